// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>

namespace tensoa::onnx {

/// Makes ONNX files known to Model as they are, run by ONNX Runtime on the CPU. A package that `tensoa compile` makes of
/// the file reads columns where they lie, and also runs on a GPU: this is for files of which none can be made, and for
/// comparing. On a GPU a file is a LoadError.
///
/// ONNX Runtime is opened by the first file, any release from 1.16 on, and stays: `libonnxruntime.so` of
/// `$TENSOA_ONNXRUNTIME` (the file or its folder), else in the folder of the program and in `../lib`, in that of `find`, in
/// the Python package onnxruntime (of the interpreter `$TENSOA_PYTHON`, of `$VIRTUAL_ENV`, of the `.venv` of a checkout, next
/// to the Python package of tensoa), where the dynamic linker looks. Without it each ONNX file is a LoadError with the
/// searched places, and all other models work.
///
/// A block is a tensor: its sizes and dtype are those of the model's argument, its place that of its name, or its number
/// (Match). `[n, 1]` is also `[n]`. Results are checked before they are copied, or refused where the file has others.
/// Fewer output blocks than results, with their names, leave out the others.
///
/// | block | copied |
/// | --- | --- |
/// | row-major without gaps: tensors of the caller's, one column, `[k, n]` of columns side by side | 0 bytes: read and written where it lies |
/// | columns, `[n, k]` | gathered to rows, scattered from rows (CopyReason::kRowMajor) |
/// | repacked, padded, masks, segments | made for the call (kRepack, kRagged) |
/// | output on memory of an input; result whose sizes are not in the file | one copy (kOverlap, kOwnOutput) |
///
/// A file for one row (`[1, 3]`) runs row after row over blocks of any length; one for another fixed number of rows takes
/// that number alone. Files with operators that ONNX Runtime does not have are a LoadError that names the operator.
///
/// One session for all threads. It works in the thread that calls: no thread of ONNX Runtime's is ever started. Weights
/// are there once; memory of calls is kept for later ones. Neither counts for a memory_budget(), and where it does not
/// suffice the call is a DeviceFullError. An output that is written where it lies may be partly written by a call that
/// fails while the model runs.
///
/// @param find the folder of the Python package onnxruntime, or an empty path; called once, when the runtime is needed
///
/// A second call has no effect; `#include <tensoa/tensoa.hpp>` calls it.
void register_engines(std::function<std::filesystem::path()> find = {});

}  // namespace tensoa::onnx
