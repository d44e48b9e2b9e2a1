// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "jit_file.hpp"

#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/runtime/jit_exception.h>
#include <torch/csrc/jit/serialization/import.h>

#include <cstddef>
#include <string_view>

#include "tensoa/core/error.hpp"
#include "tensoa/core/impl/device_errors.hpp"
#include "torch_memory.hpp"

namespace tensoa::pytorch {

std::string short_message(const std::exception& error) {
  std::string text = error.what();
  if (const auto* torch_error = dynamic_cast<const c10::Error*>(&error))
    text = torch_error->what_without_backtrace();
  if (const auto* raised = dynamic_cast<const torch::jit::JITException*>(&error)) {
    text = raised->getOriginalMsg().value_or(text);
  }
  constexpr std::string_view kMark = "RuntimeError: ";
  const std::size_t mark = text.rfind(kMark);
  const std::size_t begin = mark == std::string::npos ? 0 : mark + kMark.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

std::string subject_of(const std::filesystem::path& path) {
  return "model " + path.string() + ": ";
}

namespace {

/// What a file is that torch::jit does not load, with the way to one that it does; empty where nobody
/// can tell.
std::string what_else_it_is(const std::filesystem::path& path) {
  try {
    caffe2::serialize::PyTorchStreamReader archive(path.string());
    if (archive.hasRecord("constants.pkl")) return {};
    if (archive.hasRecord("data.pkl")) {
      return "it is a file of torch.save, a state_dict or a pickled module: load that in Python, "
             "and "
             "write torch.jit.script(module).save(\"model.pt\")";
    }
    if (archive.hasRecord("archive_format")) {
      return "it is a file of torch.export: write torch.jit.script(module).save(\"model.pt\"), or "
             "make "
             "a package with python -m tensoa.export";
    }
  } catch (const std::exception&) {
    return "it is no archive: cut off, or a file of another program; write it again with "
           "torch.jit.script(module).save(\"model.pt\")";
  }
  return {};
}

}  // namespace

void with_jit_file(const std::filesystem::path& path,
                   const std::function<void(torch::jit::Module& module)>& use) {
  const std::string subject = subject_of(path);
  forget_refusal();
  try {
    torch::jit::Module module = torch::jit::load(path.string(), c10::kCPU);
    module.eval();
    if (!module.find_method("forward")) throw LoadError(subject + "has no forward method");
    use(module);
  } catch (const DeviceError& error) {
    detail::rethrow(error, subject + "cannot be loaded: ");
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw_if_refused(subject + "cannot be loaded: ");
    const std::string reason = short_message(error);
    const std::string known = what_else_it_is(path);
    throw LoadError(subject +
                    "is not a TorchScript file that this libtorch can load (expected one written "
                    "by torch.jit.save): " +
                    // Advice of torch's archive follows.
                    (known.empty() ? reason.substr(0, reason.find(". ")) : known));
  }
}

}  // namespace tensoa::pytorch
