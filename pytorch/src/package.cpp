// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "package.hpp"

#include <caffe2/serialize/inline_container.h>
#include <ftw.h>
#include <sys/utsname.h>
#include <torch/version.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "sha256.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::pytorch {
namespace {

using nlohmann::json;

constexpr int kPackageSchema = 1;
constexpr std::string_view kMark = "tensoa sha256 ";  // before the digits, at the end of the file
constexpr std::size_t kDigits = 64;
constexpr std::string_view kManifest = "extra/tensoa.json";
constexpr std::string_view kProgram = "data/aotinductor/model/";  // where its files are

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what) {
  throw LoadError("model " + path.string() + ": " + what);
}

/// The whole file, once its checksum is found right.
std::string read_checked(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file) fail(path, "cannot be read");
  const std::size_t tail = kMark.size() + kDigits;
  if (bytes.size() < tail ||
      std::string_view(bytes).substr(bytes.size() - tail, kMark.size()) != kMark) {
    fail(path,
         "is not a package of tensoa, or was cut off: its checksum is missing (expected a file "
         "written by python -m tensoa.export)");
  }
  const std::string_view content(bytes.data(), bytes.size() - kDigits);
  if (sha256(content) != std::string_view(bytes).substr(content.size())) {
    fail(path, "its checksum is wrong: it was changed or damaged; export or copy it again");
  }
  return bytes;
}

/// The words of "flags" (x86) or "Features" (Arm) of the first processor.
std::set<std::string> cpu_flags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

void require_machine(const std::filesystem::path& path, const json& manifest) {
  const auto built_with = manifest.at("torch").get<std::string>();
  if (built_with.substr(0, built_with.find('+')) != TORCH_VERSION) {
    fail(path, "was made with torch " + built_with + ", this program runs torch " + TORCH_VERSION +
                   "; export it again with that version");
  }
  utsname here{};
  uname(&here);
  const auto machine = manifest.at("machine").get<std::string>();
  if (machine != here.machine) {
    fail(path, "was made for " + machine + ", this machine is " + here.machine);
  }
  const std::set<std::string> flags = cpu_flags();
  std::string missing;
  for (const json& needed : manifest.at("cpu_flags")) {
    if (!flags.contains(needed.get<std::string>())) missing += ' ' + needed.get<std::string>();
  }
  if (!missing.empty()) {
    fail(path, "needs instructions that this processor does not have:" + missing +
                   "; export it on a machine of this kind");
  }
}

void require_target(const std::filesystem::path& path, const json& manifest, Device device,
                    const std::string& gpu_architecture) {
  const auto target = manifest.at("target").get<std::string>();
  const std::string wanted = device.is_cpu() ? "cpu" : "cuda";
  if (target != wanted) {
    fail(path, "was made for --target " + target + ", asked for on " + to_string(device) +
                   "; export it with --target " + wanted);
  }
  if (device.is_cpu()) return;
  const auto architecture = manifest.at("gpu_architecture").get<std::string>();
  if (architecture != gpu_architecture) {
    fail(path, "was made for GPUs of " + architecture + ", " + to_string(device) + " is " +
                   gpu_architecture + "; export it on such a GPU");
  }
}

std::vector<std::vector<PackageArgument>> arguments_in(const json& blocks) {
  std::vector<std::vector<PackageArgument>> all;
  for (const json& block : blocks) {
    std::vector<PackageArgument>& arguments = all.emplace_back();
    for (const json& argument : block) {
      arguments.push_back({argument.at("first").get<std::uint32_t>(),
                           argument.at("step").get<std::uint32_t>(),
                           argument.at("planes").get<std::uint32_t>()});
    }
  }
  return all;
}

std::vector<PackageRows> rows_in(const json& rules) {
  std::vector<PackageRows> all;
  for (const json& rule : rules) {
    PackageRows& rows = all.emplace_back();
    if (rule.contains("collection")) {
      rows.collection = rule.at("collection").get<std::size_t>();
    } else {
      rows.rows = rule.at("rows").get<std::size_t>();
    }
  }
  return all;
}

std::string contents_of(caffe2::serialize::PyTorchStreamReader& archive, const std::string& name) {
  const auto [data, size] = archive.getRecord(name);
  return {static_cast<const char*>(data.get()), size};
}

std::filesystem::path folder_of_packages() {
  const auto from = [](const char* variable, const char* below) -> std::filesystem::path {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') return {};
    return std::filesystem::path(value) / below;
  };
  for (const auto& folder : {from("TENSOA_PACKAGE_FOLDER", ""), from("XDG_CACHE_HOME", "tensoa"),
                             from("HOME", ".cache/tensoa")}) {
    if (!folder.empty()) return folder;
  }
  throw LoadError(
      "packages cannot be unpacked: TENSOA_PACKAGE_FOLDER, XDG_CACHE_HOME and HOME are all unset; "
      "set TENSOA_PACKAGE_FOLDER to a folder of yours");
}

}  // namespace

PrivateFolder::PrivateFolder() {
  const std::filesystem::path parent = folder_of_packages();
  std::error_code failure;
  std::filesystem::create_directories(parent, failure);
  std::string name = (parent / "package-XXXXXX").string();
  if (failure || mkdtemp(name.data()) == nullptr) {
    const std::error_code reason =
        failure ? failure : std::error_code(errno, std::generic_category());
    throw LoadError("packages cannot be unpacked in " + parent.string() + ": " + reason.message() +
                    "; set TENSOA_PACKAGE_FOLDER to a folder that can be written");
  }
  path_ = name;
}

PrivateFolder::~PrivateFolder() {
  // Not std::filesystem::remove_all: libtorch.so exports one of its own, which takes the place of the
  // standard library's and jumps to address 0 (torch 2.11).
  const auto remove_entry = [](const char* entry, const struct stat*, int, FTW*) {
    return std::remove(entry);
  };
  nftw(path_.c_str(), remove_entry, /*descriptors=*/8, FTW_DEPTH | FTW_PHYS);
}

Package::Package(const std::filesystem::path& path, Device device,
                 const std::string& gpu_architecture) {
  std::istringstream bytes(read_checked(path));
  try {
    caffe2::serialize::PyTorchStreamReader archive(&bytes);
    const json manifest = json::parse(contents_of(archive, std::string(kManifest)));
    if (manifest.at("schema") != kPackageSchema) {
      fail(path, "its format is " + manifest.at("schema").dump() +
                     ", this version of tensoa reads " + std::to_string(kPackageSchema) +
                     "; export it again");
    }
    require_target(path, manifest, device, gpu_architecture);
    require_machine(path, manifest);
    binding = parse_binding(manifest.at("binding").dump());
    inputs = arguments_in(manifest.at("inputs"));
    outputs = arguments_in(manifest.at("outputs"));
    rows = rows_in(manifest.at("rows"));
    if (inputs.size() != binding.inputs.size() || outputs.size() != binding.outputs.size() ||
        rows.size() != outputs.size()) {
      fail(path, "does not say how all blocks of its binding become arguments; export it again");
    }
    for (const std::string& name : archive.getAllRecords()) {
      if (!name.starts_with(kProgram)) continue;
      const std::filesystem::path file = folder.path() / std::filesystem::path(name).filename();
      std::ofstream(file, std::ios::binary) << contents_of(archive, name);
      if (std::filesystem::file_size(file) != archive.getRecordSize(name)) {
        fail(path, "cannot be unpacked in " + folder.path().string() + ": the disk is full");
      }
      if (file.extension() == ".so") library = file;
    }
  } catch (const LoadError&) {
    throw;
  } catch (const std::exception& error) {
    const std::string reason = error.what();
    const std::string line = reason.substr(0, reason.find('\n'));
    fail(path, "is not a package that this version can read: " +
                   line.substr(0, line.find(". ")));  // advice of torch's archive follows
  }
  if (library.empty()) {
    fail(path, "holds no compiled program (.so); nothing is compiled here, export it again");
  }
}

}  // namespace tensoa::pytorch
