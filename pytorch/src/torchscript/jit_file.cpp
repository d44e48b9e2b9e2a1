// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "torchscript/jit_file.hpp"

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/ir/scope.h>
#include <torch/csrc/jit/runtime/graph_iterator.h>
#include <torch/csrc/jit/runtime/jit_exception.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "runtime/torch_memory.hpp"
#include "tensoa/core/device_errors.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/package/archive.hpp"

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
  std::size_t begin = mark == std::string::npos ? 0 : mark + kMark.size();
  begin = std::min(text.find_first_not_of('\n', begin), text.size());  // "\nUnknown builtin op: …"
  return text.substr(begin, text.find('\n', begin) - begin);
}

std::string subject_of(const std::filesystem::path& path) {
  return "model " + path.string() + ": ";
}

namespace {

/// Why torch::jit does not load a file, in one line.
std::string reason_of(const std::exception& error, const std::filesystem::path& path) {
  try {
    static_cast<void>(package::names_in_archive(path));
  } catch (const std::exception&) {
    return "it is not an archive: cut off, or a file of another program; write it again with "
           "torch.jit.script(module).save(\"model.pt\")";
  }
  const std::string reason = short_message(error);
  return reason.substr(0, reason.find(". "));  // advice of torch's archive follows
}

std::size_t writes_of_attributes(const torch::jit::Module& module) {
  auto graph = module.get_method("forward").graph();
  torch::jit::DepthFirstGraphNodeIterator nodes(graph);
  std::size_t count = 0;
  while (const torch::jit::Node* node = nodes.next()) {
    count += node->kind() == c10::prim::SetAttr ? 1 : 0;
  }
  return count;
}

/// Names `caller` instead of the functions that were inlined. torch::jit::freeze removes the methods that forward
/// calls, and those of the module that was loaded go with it, but the nodes keep pointing at them: torch reads their
/// names when an operator fails, from memory that is free by then.
void forget_inlined(torch::jit::Block& block, torch::jit::Function& caller) {
  for (torch::jit::Node* node : block.nodes()) {
    if (node->callstack()) {
      node->setCallStack(
          c10::make_intrusive<torch::jit::InlinedCallStack>(&caller, node->sourceRange()));
    }
    for (torch::jit::Block* inner : node->blocks()) forget_inlined(*inner, caller);
    if (node->hasAttribute(c10::attr::Subgraph)) {  // of torch.jit.fork
      forget_inlined(*node->g(c10::attr::Subgraph)->block(), caller);
    }
  }
}

}  // namespace

void load_named(const std::string& subject, const std::function<void()>& load,
                const std::function<std::string(const std::exception&)>& why) {
  forget_allocation_failure();
  try {
    load();
  } catch (const DeviceError& error) {
    rethrow(error, subject + "cannot be loaded: ");
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw_if_allocation_failed(subject + "cannot be loaded: ");
    throw LoadError(subject + why(error));
  }
}

void with_jit_file(const std::filesystem::path& path,
                   const std::function<void(torch::jit::Module& module)>& use) {
  const std::string subject = subject_of(path);
  const auto load = [&] {
    torch::jit::Module module = torch::jit::load(path.string(), c10::kCPU);
    if (!module.find_method("forward")) throw LoadError(subject + "has no forward method");
    use(module);
  };
  load_named(subject, load, [&](const std::exception& error) {
    return "is not a TorchScript file that this libtorch can load (expected one written by "
           "torch.jit.save): " +
           reason_of(error, path);
  });
}

torch::jit::Module frozen(const torch::jit::Module& module) {
  torch::jit::Module made = torch::jit::freeze(module);
  std::size_t before = writes_of_attributes(made);
  while (before != 0) {
    const torch::jit::Module again = torch::jit::freeze(made);
    const std::size_t left = writes_of_attributes(again);
    if (left >= before) break;
    made = again;
    before = left;
  }
  torch::jit::Function& forward = made.get_method("forward").function();
  forget_inlined(*torch::jit::toGraphFunction(forward).graph()->block(), forward);
  return made;
}

}  // namespace tensoa::pytorch
