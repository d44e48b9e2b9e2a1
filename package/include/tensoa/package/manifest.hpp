// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensoa/core/device.hpp"
#include "tensoa/engine/describe.hpp"
#include "tensoa/engine/row_dependence.hpp"
#include "tensoa/package/archive.hpp"

/// @file
/// The description of a package, extra/tensoa.json, as values. The format is in docs/ahead_of_time.md.

namespace tensoa::package {

inline constexpr int kSchema = 3;
/// Of packages for one target, whose keys are those of the manifest itself.
inline constexpr int kSchemaOfOneTarget = 2;
/// Of the rules that found a RowDependence: those of packages with a higher number are not known here, and what is
/// independent by a lower one may be wrong.
inline constexpr int kRowAnalysis = 2;

/// The number of rows of a result: that of an input collection, or always the same number.
struct RowRule {
  std::optional<std::size_t> collection;
  std::size_t rows = 0;
};

/// Compiled code in a package.
struct ProgramDescription {
  std::string kind;  ///< of the ProgramKind that runs it: "fused", "inductor", "forest"
  DeviceKind target = DeviceKind::kCpu;
  std::string name;                    ///< what it runs on: "x86-64-v4", "sm_90", "x86_64"
  std::string status;                  ///< "checked", "built, not run"
  std::vector<std::string> cpu_flags;  ///< what a processor must have, as in /proc/cpuinfo
  std::string file;                    ///< in the archive
  std::size_t bytes = 0;               ///< of all its files
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
  /// A launch of `kernel` over the rows of `domain`, `times` rows of the kernel for each; or zeros into `buffer`.
  struct Step {
    std::optional<std::size_t> kernel;
    std::size_t domain = 0;
    std::size_t buffer = 0;
    std::int64_t times = 1;
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
  /// Rows that all steps run for, before the next ones, so that buffers stay small. 0: all rows.
  std::int64_t rows_at_once = 0;
  /// Whether each kernel waits for the work before it, so that it may be launched before that has ended.
  bool waits = false;
  std::string weights;  ///< a file
};

/// The longest that the arrays of FusedKernels::Params may be.
inline constexpr std::size_t kMaxGpuBlocks = 32;
inline constexpr std::size_t kMaxGpuDomains = 8;
inline constexpr std::size_t kMaxGpuBuffers = 64;
/// The most rows of a collection: kernels count them by int32.
inline constexpr std::int64_t kMaxGpuRows = 0x7FFF'FFFF;

/// Common properties of the programs of the kind "fused".
struct FusedDescription {
  std::vector<std::size_t>
      domains;  ///< the first input block of each collection whose number of rows they are given
  std::vector<std::string> stages;      ///< loops over rows, as text
  std::optional<FusedKernels> kernels;  ///< of those for GPUs
};

/// A fused program that is a part of TorchInductor's, which calls it by its name with tensors of planes.
struct FusedPart {
  /// Planes with the number of rows of input `rows_of`.
  struct Output {
    std::int64_t planes = 0;
    DType dtype = DType::kF32;
    std::size_t rows_of = 0;
  };

  std::string name;  ///< of its text: two parts of one name are the same
  std::size_t inputs = 0;
  std::vector<Output> outputs;
  /// Of each domain the input that has its rows; none where the part does not have it.
  std::vector<std::optional<std::size_t>> domains;
  std::vector<std::string> stages;           ///< loops over rows, as text
  std::vector<ProgramDescription> programs;  ///< best first
  std::optional<FusedKernels> kernels;       ///< of those for GPUs
};

/// An operation of the model that no fused part has.
struct UnfusedOperation {
  std::string name;
  std::string reason;
};

/// An ensemble of trees, which forest/ runs.
struct ForestDescription {
  /// A column: an input block, and the place in it, where a vector counts as its parts.
  struct Feature {
    std::size_t block = 0;
    std::size_t place = 0;
  };

  std::string file;                                        ///< in the archive
  std::vector<Feature> columns;                            ///< of each feature
  std::vector<std::pair<std::string, std::string>> facts;  ///< for people: "trees", "100"
};

/// One argument of a program of TorchInductor: planes `first`, `first + step`, … of a block, counted
/// from its first in memory.
struct PlaneRange {
  std::uint32_t first = 0;
  std::uint32_t step = 1;
  std::uint32_t planes = 1;
};

/// The results of the exporter's check of a package: errors relative to the largest number, against
/// float64, by output block.
struct CheckDescription {
  std::vector<std::size_t> rows;        ///< of each input collection
  std::string numbers = "normal";       ///< in the inputs: docs/ahead_of_time.md names them
  std::map<std::string, double> error;  ///< of the package
  std::map<std::string, double> error_of_eager;  ///< of the module itself, in its own precision
};

/// The results of the last check of a package on each architecture of a GPU.
struct GpuCheckDescription {
  std::string architecture;             ///< "sm_90"
  std::string gpu;                      ///< "NVIDIA H200"
  std::map<std::string, double> error;  ///< the largest ||a - b|| / ||b||, by output block
  bool has_graphs = false;              ///< CUDA graphs could be captured and had the same results
  std::string why_no_graphs;
};

/// The content of a package for one target of `tensoa compile --target`. Missing parts are empty.
struct TargetDescription {
  std::string name = "any";      ///< "cpu", "cuda"; "any": all devices
  std::string gpu_architecture;  ///< of TorchInductor's program for GPUs: "sm_90"

  /// In the order in which they are tried. All their files are in the archive.
  std::vector<ProgramDescription> programs;
  std::optional<FusedDescription> fused;
  /// Whether the results are the same bits at every call; nothing where the package does not store it.
  std::optional<bool> is_deterministic;
  std::vector<FusedPart> parts;                    ///< of TorchInductor's program
  std::vector<UnfusedOperation> unfused;           ///< next to `parts`
  std::vector<std::vector<PlaneRange>> arguments;  ///< of TorchInductor's program, for each block

  std::vector<CheckDescription> checks;
  std::vector<GpuCheckDescription> gpu_checks;
  /// The least tolerance of recorded results, where the products of this target are rougher than those of others.
  double tolerance = 0;
};

/// The one whose programs run on such devices; nullptr where no target fits.
const TargetDescription* target_for(const std::vector<TargetDescription>& targets, DeviceKind kind);

/// As `--target` of `tensoa compile` accepts them: "cpu,cuda".
std::string names_of(const std::vector<TargetDescription>& targets);

/// The places of the expected results of a package.
struct RecordedFiles {
  struct Case {
    std::size_t rows = 0;  ///< of input collection 0
    std::string file;
    std::string numbers = "normal";
    std::vector<std::vector<double>> tolerances;  ///< of the planes of each output block, or empty
  };
  double tolerance = 0;
  std::vector<Case> cases;
};

/// Bytes that `file` of the archive lacks at `at`, because other files have them, too: the bytes of the file `part`.
struct SharedBytes {
  std::string file;
  std::size_t at = 0;
  std::string part;
};

struct Manifest {
  BindingDescription binding;

  /// For each input block the first collection that always has the same number of rows: its own, except where
  /// the model needs several to have equal numbers. Other members that name a collection name such a first one.
  std::vector<std::size_t> collections;
  std::vector<RowRule> rows;     ///< of each output block
  RowDependence row_dependence;  ///< unknown where the package does not store it
  std::string machine;           ///< of programs for CPUs: "x86_64"
  std::string torch;             ///< the version that wrote it

  std::vector<TargetDescription> targets;  ///< one at least
  std::vector<SharedBytes> shared;         ///< one for a file at most
  std::optional<ForestDescription> forest;
  std::optional<RecordedFiles> recorded;

  std::size_t blocks() const noexcept { return binding.inputs.size() + binding.outputs.size(); }
};

/// Reads all of extra/tensoa.json, once. What is left to those who run a program is whether it suits the
/// machine.
/// @param subject the beginning of messages: "model FILE: "
/// @throws LoadError where it is of another schema, or contradicts itself; another std::exception, with
///     the reason, where something is missing or of another type
Manifest read_manifest(const Archive& archive, const std::string& subject);

}  // namespace tensoa::package
