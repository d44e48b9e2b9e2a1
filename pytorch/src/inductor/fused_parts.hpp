// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "tensoa/package/package.hpp"

namespace tensoa::pytorch {

/// The fused parts of a program of TorchInductor, which calls them by the operator
/// tensoa::part(Tensor[] inputs, str name) -> Tensor[] while this lives. Parts of one name have one text, so that
/// models share them. On GPUs the operator enqueues on the stream of the innermost StreamGuard, in memory of torch.
class FusedParts {
 public:
  /// @param parts of the package
  /// @throws LoadError where a part has no program for the device; DeviceError
  FusedParts(const package::Package& package, const std::vector<package::FusedPart>& parts,
             Device device);

  struct Part;

 private:
  std::vector<std::shared_ptr<const Part>> parts_;
};

}  // namespace tensoa::pytorch
