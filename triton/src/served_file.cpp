// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/triton/served_file.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "tensoa/core/error.hpp"

namespace tensoa::triton {

std::filesystem::path model_file_in(const std::filesystem::path& folder) {
  constexpr std::array<std::string_view, 5> kEndings{".pt2", ".json", ".ubj", ".txt", ".onnx"};
  std::error_code error;
  std::filesystem::path usual = folder / "model.pt2";
  if (std::filesystem::is_regular_file(usual, error)) return usual;
  std::vector<std::filesystem::path> found;
  for (auto it = std::filesystem::directory_iterator(folder, error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const std::string ending = it->path().extension().string();
    if (std::ranges::find(kEndings, ending) != kEndings.end() && it->is_regular_file(error)) {
      found.push_back(it->path());
    }
  }
  if (found.size() == 1) return found.front();
  throw LoadError(
      "folder " + folder.string() + ": got " + std::to_string(found.size()) +
      " files that end in .pt2, .json, .ubj, .txt or .onnx, expected model.pt2 or one file; "
      "write the folder with `tensoa deploy MODEL --to DIR`");
}

void require_without_torch(const package::ModelDescription& model, const std::string& subject) {
  const auto needs_torch = [](const package::TargetDescription& target) {
    return !target.programs.empty() &&
           std::ranges::all_of(target.programs,
                               [](const auto& program) { return program.kind == "inductor"; });
  };
  if (!std::ranges::all_of(model.targets, needs_torch)) return;
  throw LoadError(subject +
                  "has programs of the kind inductor only, which need torch; the Triton back-end "
                  "\"tensoa\" is without torch and runs the kinds fused and forest. Export it "
                  "without --no-fuse, or serve the TorchScript file with `tensoa deploy`, which "
                  "uses the back-end \"pytorch\"");
}

}  // namespace tensoa::triton
