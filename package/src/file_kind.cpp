// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/package/file_kind.hpp"

#include <algorithm>
#include <exception>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "other_formats.hpp"
#include "tensoa/package/archive.hpp"

namespace tensoa::package {
namespace {

/// Files of torch.save before it wrote archives (torch 1.6) begin with a pickled number.
bool is_old_torch_save(const std::filesystem::path& path) {
  constexpr std::string_view kMagic(
      "\x80\x02\x8a\nl\xfc\x9c"
      "F\xf9 j\xa8P\x19.");
  std::string beginning(kMagic.size(), '\0');
  std::ifstream(path, std::ios::binary)
      .read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  return beginning == kMagic;
}

}  // namespace

FileKind kind_of_file(const std::filesystem::path& path) noexcept {
  try {
    const std::vector<std::string> names = names_in_archive(path);
    const auto has = [&](std::string_view name) {
      return std::ranges::find(names, name) != names.end();
    };
    const auto has_folder = [&](std::string_view folder) {
      return std::ranges::any_of(names,
                                 [&](const std::string& name) { return name.starts_with(folder); });
    };
    if (has("extra/tensoa.json")) return FileKind::kPackage;
    if (has("constants.pkl")) return FileKind::kTorchScript;
    if (has_folder("data/aotinductor/")) return FileKind::kAotInductor;
    if (has("archive_format") || has("serialized_exported_program.json")) {
      return FileKind::kExportedProgram;
    }
    if (has("data.pkl")) return FileKind::kTorchSave;
  } catch (const std::exception&) {
    // No archive, or cut off.
  }
  try {
    if (!std::filesystem::is_regular_file(path)) return FileKind::kUnknown;
    if (is_old_torch_save(path)) return FileKind::kTorchSave;
    if (is_onnx(path)) return FileKind::kOnnx;
    if (what_other_format(path)) return FileKind::kOther;
  } catch (const std::exception&) {
    // Cannot be read.
  }
  return FileKind::kUnknown;
}

std::optional<std::string> why_no_package(const std::filesystem::path& path) {
  const std::string compile = "tensoa compile ";
  const std::string to_package = " --out PACKAGE.pt2";
  switch (kind_of_file(path)) {
    case FileKind::kTorchScript:
      return "is TorchScript, and its engine, which needs torch, is not registered: use a "
             "tensoa that is built with TENSOA_PYTORCH=ON, and call "
             "pytorch::register_engines(); or make a package: " +
             compile + path.string() + to_package;
    case FileKind::kExportedProgram:
      return "is a program of torch.export, and its engine, which needs torch, is not registered: "
             "use a tensoa that is built with TENSOA_PYTORCH=ON, and call "
             "pytorch::register_engines(); or make a package: " +
             compile + path.string() + to_package;
    case FileKind::kAotInductor:
      return "is a package of torch's AOTInductor, compiled for tensors, not a package of "
             "tensoa, which is compiled for columns; make one of the module: " +
             compile + "FILE.py:FACTORY" + to_package;
    case FileKind::kTorchSave:
      return "is not a TorchScript file: it is a file of torch.save, a state_dict or a pickled "
             "module; load that in Python, and write "
             "torch.jit.script(module).save(\"model.pt\"), "
             "or make a package: " +
             compile + "FILE.py:FACTORY" + to_package;
    case FileKind::kOnnx:
    case FileKind::kOther:
    case FileKind::kUnknown:
      try {
        return what_other_format(path);
      } catch (const std::exception&) {
        return {};
      }
    case FileKind::kPackage:
      break;
  }
  return {};
}

}  // namespace tensoa::package
