// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "private_folder.hpp"
#include "tensoa/core/device.hpp"
#include "tensoa/engine/describe.hpp"
#include "tensoa/soa/bound_block.hpp"

namespace tensoa::pytorch {

/// One argument of a compiled program: planes `first`, `first + step`, … of a block, counted from its
/// first in memory.
struct PackageArgument {
  std::uint32_t first = 0;
  std::uint32_t step = 1;
  std::uint32_t planes = 1;
};

/// How many rows a result has: as many as an input collection, or always the same number.
struct PackageRows {
  std::optional<std::size_t> collection;
  std::size_t rows = 0;
};

/// How the kernels of a fused program for GPUs are launched.
struct FusedKernels {
  struct Kernel {
    std::string name;
    unsigned threads = 0;
    unsigned shared_bytes = 0;
    std::int64_t rows_per_block = 0;
    std::int64_t blocks_per_sm = 0;  ///< no more are launched; 0 where it does not matter
  };
  /// Memory for each row of a domain, between kernels.
  struct Buffer {
    std::size_t domain = 0;
    std::size_t row_bytes = 0;
  };
  /// A launch of `kernel` over the rows of `domain`, or zeros into `buffer`.
  struct Step {
    std::optional<std::size_t> kernel;
    std::size_t domain = 0;
    std::size_t buffer = 0;
  };

  /// The lengths of the arrays that every kernel takes, by value (Params in docs/ahead_of_time.md).
  struct Params {
    std::size_t blocks = 0;
    std::size_t domains = 0;
    std::size_t buffers = 0;
  };

  Params params;
  std::vector<Kernel> kernels;
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  std::string code;     ///< a cubin for the device
  std::string weights;  ///< bytes
};

/// The longest that the arrays of FusedKernels::Params may be.
inline constexpr std::size_t kMaxGpuBlocks = 32;
inline constexpr std::size_t kMaxGpuDomains = 8;
inline constexpr std::size_t kMaxGpuBuffers = 64;
/// The most rows of a collection: kernels count them by int32.
inline constexpr std::int64_t kMaxGpuRows = 0x7FFF'FFFF;

/// A package of the exporter (python/tensoa/aot.py), checked, and the program that suits the device
/// unpacked: a fused one where the package has them for such a device, else that of TorchInductor.
/// The format is in docs/ahead_of_time.md.
struct Package {
  enum class Kind : std::uint8_t { kInductor, kFusedCpu, kFusedGpu };

  /// Reads and unpacks `path` for `device`. Nothing of it is written or run before the checksum, the
  /// torch version (of TorchInductor's programs), the target and the processor have been found right.
  /// @param gpu_architecture of `device`, "sm_90"; not used on the CPU
  /// @throws LoadError
  Package(const std::filesystem::path& path, Device device, const std::string& gpu_architecture);

  /// @param blocks of one call, inputs before outputs
  /// @throws BindingError where the program cannot count the rows of one of `domains` (kMaxGpuRows)
  void require_countable(std::span<const BoundBlock* const> blocks) const;

  std::string subject;  ///< "model FILE: ", the beginning of messages
  /// As described, but for collections that must have equal numbers of rows: they are the first of them.
  BindingDescription binding;
  std::vector<PackageRows> rows;  ///< of each output block
  Kind kind = Kind::kInductor;

  /// kInductor: of each block, inputs before outputs.
  std::vector<std::vector<PackageArgument>> arguments;
  /// kInductor on a GPU: why CUDA graphs are not known to work; empty where they are.
  std::string no_graphs;
  /// Fused: the first input block of each collection whose rows the program is told.
  std::vector<std::size_t> domains;
  FusedKernels kernels;  ///< kFusedGpu

  PrivateFolder folder;
  std::filesystem::path library;  ///< the compiled program, in `folder`; not of kFusedGpu
};

}  // namespace tensoa::pytorch
