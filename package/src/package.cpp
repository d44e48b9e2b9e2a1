// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "package.hpp"

#include <caffe2/serialize/inline_container.h>
#include <elf.h>
#include <sys/utsname.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include "manifest.hpp"
#include "sha256.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::pytorch {
namespace {

using nlohmann::json;

constexpr int kPackageSchema = 2;
constexpr std::string_view kMark = "tensoa sha256 ";  // before the digits, at the end of the file
constexpr std::size_t kDigits = 64;
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

/// The version of the libtorch that was loaded, "2.11.0": its headers say what this was compiled with.
/// at::show_config() has it too, but starts the CUDA driver, and with it a thread.
std::string running_torch() {
  const std::uint64_t version = aoti_torch_abi_version();  // a byte each, from the highest one
  return std::to_string(version >> 56U) + '.' + std::to_string(version >> 48U & 0xffU) + '.' +
         std::to_string(version >> 40U & 0xffU);
}

void require_torch(const std::filesystem::path& path, const json& manifest) {
  const auto built_with = manifest.at("torch").get<std::string>();
  const std::string here = running_torch();
  if (built_with.substr(0, built_with.find('+')) == here) return;
  fail(path, "was made with torch " + built_with + ", this program runs torch " + here +
                 "; export it again with that version");
}

void require_machine(const std::filesystem::path& path, const json& manifest) {
  utsname here{};
  uname(&here);
  const auto machine = manifest.at("machine").get<std::string>();
  if (machine == here.machine) return;
  fail(path, "was made for " + machine + ", this machine is " + here.machine +
                 "; export it on a machine of this kind");
}

/// The instructions of the list that this processor does not have, each after a space.
std::string missing_flags(const json& needed) {
  static const std::set<std::string> here = cpu_flags();
  std::string missing;
  for (const json& flag : needed) {
    if (!here.contains(flag.get<std::string>())) missing += ' ' + flag.get<std::string>();
  }
  return missing;
}

void require_target(const std::filesystem::path& path, const json& manifest, Device device,
                    const std::string& gpu_architecture) {
  const auto target = manifest.at("target").get<std::string>();
  const std::string wanted = device.is_cpu() ? "cpu" : "cuda";
  if (target != wanted) {
    fail(path, "was made for --target " + target + ", asked for on " + to_string(device) +
                   "; export it with --target " + wanted);
  }
  if (device.is_cpu()) {
    require_machine(path, manifest);
    const std::string missing = missing_flags(manifest.at("cpu_flags"));
    if (missing.empty()) return;
    fail(path, "needs instructions that this processor does not have:" + missing +
                   "; export it on a machine of this kind");
  }
  const auto architecture = manifest.at("gpu_architecture").get<std::string>();
  if (architecture != gpu_architecture) {
    fail(path, "was made for GPUs of " + architecture + ", " + to_string(device) + " is " +
                   gpu_architecture + "; export it on such a GPU");
  }
}

// ---- fused programs

/// The file of the first variant whose instructions this processor has.
std::string cpu_file(const std::filesystem::path& path, const json& variants) {
  std::string reasons;
  for (const json& variant : variants) {
    const std::string missing = missing_flags(variant.at("cpu_flags"));
    if (missing.empty()) return variant.at("file").get<std::string>();
    reasons += (reasons.empty() ? "" : ", ") + variant.at("name").get<std::string>() +
               " (missing here:" + missing + ")";
  }
  fail(path, "has no program for this processor, only for " + reasons +
                 "; export it on a machine of this kind");
}

/// "sm_90" as 90; 0 for what is no such name, as code for one architecture alone ("sm_90a").
int number_of(std::string_view architecture) {
  if (!architecture.starts_with("sm_")) return 0;
  architecture.remove_prefix(3);
  int number = 0;
  const char* const end = architecture.data() + architecture.size();
  return std::from_chars(architecture.data(), end, number).ptr == end ? number : 0;
}

/// The file with the code for this GPU architecture: code runs on its own architecture and on later
/// ones of the same generation, "sm_80" on 8.0, 8.6 and 8.9; the latest is taken.
std::string gpu_file(const std::filesystem::path& path, const json& variants, Device device,
                     const std::string& gpu_architecture) {
  const int here = number_of(gpu_architecture);
  int best = 0;
  std::string file;
  std::string architectures;
  for (const json& variant : variants) {
    const auto architecture = variant.at("architecture").get<std::string>();
    const int number = number_of(architecture);
    if (number / 10 == here / 10 && number <= here && number > best) {
      best = number;
      file = variant.at("file").get<std::string>();
    }
    architectures += (architectures.empty() ? "" : ", ") + architecture;
  }
  if (best > 0) return file;
  fail(path, "has no program for " + to_string(device) + ", which is " + gpu_architecture +
                 ", only for " + architectures + "; export it for that GPU");
}

/// A position in a list of `size`, from the manifest.
std::size_t position(const std::filesystem::path& path, const json& object, const char* key,
                     std::size_t size) {
  const auto value = object.at(key).get<std::int64_t>();
  if (value >= 0 && value < static_cast<std::int64_t>(size)) return static_cast<std::size_t>(value);
  fail(path, "its fused program is not whole: \"" + std::string(key) + "\" is " +
                 std::to_string(value) + ", expected a place in a list of " + std::to_string(size) +
                 "; export it again");
}

template <class Number>
Number count(const std::filesystem::path& path, const json& object, const char* key,
             std::int64_t from, std::int64_t to) {
  const auto value = object.at(key).get<std::int64_t>();
  if (value >= from && value <= to) return static_cast<Number>(value);
  fail(path, "its fused program is not whole: \"" + std::string(key) + "\" is " +
                 std::to_string(value) + ", expected " + std::to_string(from) + " to " +
                 std::to_string(to) + "; export it again");
}

void require_at_most(const std::filesystem::path& path, const char* what, std::size_t got,
                     std::size_t most) {
  if (got <= most) return;
  fail(path, "its fused program has " + std::to_string(got) + ' ' + what + ", at most " +
                 std::to_string(most) + " are possible; export it again");
}

/// For each domain the first input block of its collection.
std::vector<std::size_t> domains_in(const std::filesystem::path& path, const json& fused,
                                    const BindingDescription& binding) {
  std::vector<std::size_t> inputs;
  for (const json& domain : fused.at("domains")) {
    const auto collection = domain.get<std::size_t>();
    const auto found = std::ranges::find(binding.inputs, collection, &BlockDescription::collection);
    if (found == binding.inputs.end()) {
      fail(path, "its fused program asks for the rows of input collection " +
                     std::to_string(collection) + ", which no block has; export it again");
    }
    inputs.push_back(static_cast<std::size_t>(found - binding.inputs.begin()));
  }
  return inputs;
}

/// @param blocks of the binding
/// @param domains that the package has
FusedKernels kernels_in(const std::filesystem::path& path, const json& cuda, std::size_t blocks,
                        std::size_t domains) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  FusedKernels all;
  all.params = {kMaxGpuBlocks, kMaxGpuDomains, kMaxGpuBuffers};
  if (cuda.contains("params")) {
    const json& params = cuda.at("params");
    all.params = {count<std::size_t>(path, params, "blocks", 1, kMaxGpuBlocks),
                  count<std::size_t>(path, params, "domains", 1, kMaxGpuDomains),
                  count<std::size_t>(path, params, "buffers", 1, kMaxGpuBuffers)};
  }
  for (const json& kernel : cuda.at("kernels")) {
    all.kernels.push_back({kernel.at("name").get<std::string>(),
                           count<unsigned>(path, kernel, "threads", 1, 1024),
                           count<unsigned>(path, kernel, "shared_bytes", 0, kMost),
                           count<std::int64_t>(path, kernel, "rows_per_block", 1, kMost),
                           count<std::int64_t>(path, kernel, "blocks_per_sm", 0, 64)});
  }
  for (const json& buffer : cuda.at("buffers")) {
    all.buffers.push_back({position(path, buffer, "domain", domains),
                           count<std::size_t>(path, buffer, "row_bytes", 0, kMost)});
  }
  for (const json& step : cuda.at("steps")) {
    FusedKernels::Step& last = all.steps.emplace_back();
    if (step.contains("kernel")) {
      last.kernel = position(path, step, "kernel", all.kernels.size());
      last.domain = position(path, step, "domain", domains);
    } else {
      last.buffer = position(path, step, "zero", all.buffers.size());
    }
  }
  require_at_most(path, "blocks", blocks, all.params.blocks);
  require_at_most(path, "domains", domains, all.params.domains);
  require_at_most(path, "buffers", all.buffers.size(), all.params.buffers);
  return all;
}

/// Of the inputs, then of the outputs.
std::vector<std::vector<PackageArgument>> arguments_in(const json& manifest) {
  std::vector<std::vector<PackageArgument>> all;
  for (const char* blocks : {"inputs", "outputs"}) {
    for (const json& block : manifest.at(blocks)) {
      std::vector<PackageArgument>& arguments = all.emplace_back();
      for (const json& argument : block) {
        arguments.push_back({argument.at("first").get<std::uint32_t>(),
                             argument.at("step").get<std::uint32_t>(),
                             argument.at("planes").get<std::uint32_t>()});
      }
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

/// Why the package does not say that its program can be captured on such a GPU; empty where it does.
std::string why_no_graphs(const json& manifest, const std::string& gpu_architecture) {
  for (const json& check : manifest.value("gpu_checks", json::array())) {
    if (check.at("architecture") != gpu_architecture) continue;
    const json& graphs = check.at("cuda_graphs");
    return graphs.is_boolean() && graphs.get<bool>()
               ? ""
               : "on " + gpu_architecture + " a capture failed when it was checked (" +
                     (graphs.is_string() ? graphs.get<std::string>() : graphs.dump()) + ")";
  }
  return "nobody has tried on " + gpu_architecture + " whether its program can be captured";
}

// ---- the archive

using Archive = caffe2::serialize::PyTorchStreamReader;

std::string contents_of(Archive& archive, const std::string& name) {
  const auto [data, size] = archive.getRecord(name);
  return {static_cast<const char*>(data.get()), size};
}

/// Whether all parts of an ELF library are in the file. The dynamic linker does not ask: it maps what
/// is not there, and the process dies when it is touched.
bool is_whole_library(std::string_view bytes) {
  Elf64_Ehdr header{};
  if (bytes.size() < sizeof(header)) return false;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (!bytes.starts_with(ELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > bytes.size()) {
    return false;
  }
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const std::size_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
    Elf64_Phdr segment{};
    if (bytes.size() - at < sizeof(segment)) return false;
    std::memcpy(&segment, bytes.data() + at, sizeof(segment));
    if (segment.p_offset > bytes.size() || segment.p_filesz > bytes.size() - segment.p_offset) {
      return false;
    }
  }
  return header.e_phnum > 0;
}

/// Writes the record `name` into `folder`. @return its file
std::filesystem::path unpack(const std::filesystem::path& path, Archive& archive,
                             const std::string& name, const std::filesystem::path& folder) {
  const std::string content = contents_of(archive, name);
  std::filesystem::path file = folder / std::filesystem::path(name).filename();
  if (file.extension() == ".so" && !is_whole_library(content)) {
    fail(path, "its program " + file.filename().string() +
                   " is no whole library: it was cut off, or is for another kind of machine; "
                   "export it again");
  }
  errno = 0;
  std::ofstream stream(file, std::ios::binary);
  stream << content;
  stream.close();
  if (!stream) {
    fail(path, "its " + file.filename().string() + " of " + std::to_string(content.size()) +
                   " bytes cannot be unpacked in " + folder.string() + ": " +
                   std::generic_category().message(errno) +
                   "; make room there, or set TENSOA_PACKAGE_FOLDER to another folder of yours");
  }
  return file;
}

}  // namespace

Package::Package(const std::filesystem::path& path, Device device,
                 const std::string& gpu_architecture)
    : subject("model " + path.string() + ": ") {
  std::istringstream bytes(read_checked(path));
  try {
    Archive archive(&bytes);
    const json manifest = manifest_of(archive);
    if (manifest.at("schema") != kPackageSchema) {
      fail(path, "its format is " + manifest.at("schema").dump() +
                     ", this version of tensoa reads " + std::to_string(kPackageSchema) +
                     "; export it again");
    }
    binding = parse_binding(manifest.at("binding").dump());
    const std::vector<std::size_t> collections = collections_in(manifest, binding);
    for (std::size_t i = 0; i < collections.size(); ++i) {
      binding.inputs[i].collection = collections[i];
    }
    rows = rows_in(manifest.at("rows"));
    const json fused = manifest.value("fused", json::object());
    bool is_whole = rows.size() == binding.outputs.size();
    const auto has = [&](const char* target) {
      return fused.contains(target) && !fused[target].empty();
    };
    if (device.is_cpu() && has("cpu")) {
      kind = Kind::kFusedCpu;
      require_machine(path, manifest);
      domains = domains_in(path, fused, binding);
      library = unpack(path, archive, cpu_file(path, fused.at("cpu")), folder.path());
    } else if (!device.is_cpu() && has("cuda")) {
      kind = Kind::kFusedGpu;
      const json& cuda = fused.at("cuda");
      domains = domains_in(path, fused, binding);
      kernels =
          kernels_in(path, cuda, binding.inputs.size() + binding.outputs.size(), domains.size());
      kernels.code =
          contents_of(archive, gpu_file(path, cuda.at("code"), device, gpu_architecture));
      kernels.weights = contents_of(archive, cuda.at("weights").get<std::string>());
    } else {
      require_target(path, manifest, device, gpu_architecture);
      require_torch(path, manifest);
      if (!device.is_cpu()) no_graphs = why_no_graphs(manifest, gpu_architecture);
      arguments = arguments_in(manifest);
      is_whole = is_whole && arguments.size() == binding.inputs.size() + binding.outputs.size();
      for (const std::string& name : archive.getAllRecords()) {
        if (!name.starts_with(kProgram)) continue;
        const std::filesystem::path file = unpack(path, archive, name, folder.path());
        if (file.extension() == ".so") library = file;
      }
      if (library.empty()) {
        fail(path, "holds no compiled program (.so); nothing is compiled here, export it again");
      }
    }
    if (!is_whole) {
      fail(path, "does not say how all blocks of its binding become arguments; export it again");
    }
  } catch (const LoadError&) {
    throw;
  } catch (const std::exception& error) {
    const std::string reason = error.what();
    const std::string line = reason.substr(0, reason.find('\n'));
    fail(path, "is not a package that this version can read: " +
                   line.substr(0, line.find(". ")));  // advice of torch's archive follows
  }
}

void Package::require_countable(std::span<const BoundBlock* const> blocks) const {
  if (kind != Kind::kFusedGpu) return;
  for (const std::size_t domain : domains) {
    const BoundBlock& block = *blocks[domain];
    const std::int64_t count = block.tensor.size_of_dim[block.row_dimension()];
    if (count <= kMaxGpuRows) continue;
    throw BindingError(subject + to_string(block) + " has " + std::to_string(count) +
                       " rows, a fused program for GPUs takes at most " +
                       std::to_string(kMaxGpuRows) +
                       "; bind slices of fewer rows, or export with --no-fuse");
  }
}

}  // namespace tensoa::pytorch
