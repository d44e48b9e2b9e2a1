// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tensoa::tools {

/// model.py of Triton's back-end `python`: runs model.onnx by onnxruntime or model.pt by torch, with the tensors of
/// tensoa/triton/wire.hpp.
extern const char* const kPythonVariant;

}  // namespace tensoa::tools
