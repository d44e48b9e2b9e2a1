// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/package/package.hpp"

#include <elf.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <system_error>

#include "tensoa/core/error.hpp"
#include "tensoa/package/file_kind.hpp"
#include "tensoa/package/sha256.hpp"

namespace tensoa::package {
namespace {

constexpr std::string_view kMark = "tensoa sha256 ";  // before the digits, at the end of the file

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

}  // namespace

Package::Package(const std::filesystem::path& path) : subject_("model " + path.string() + ": ") {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) {
    fail(std::filesystem::exists(path, failure) ? "is not a file" : "there is no such file");
  }
  std::ifstream file(path, std::ios::binary);
  bytes_.assign(std::istreambuf_iterator<char>(file), {});
  if (!file) fail("cannot be read");
  const std::string_view all = bytes_;
  const std::size_t tail = kMark.size() + kChecksumDigits;
  if (all.size() < tail || all.substr(all.size() - tail, kMark.size()) != kMark) {
    if (const auto why = why_no_package(path)) fail(*why);
    fail(
        "is not a package of tensoa, or was cut off: its checksum is missing (expected a file "
        "written by tensoa compile)");
  }
  if (sha256(all.substr(0, all.size() - kChecksumDigits)) !=
      all.substr(all.size() - kChecksumDigits)) {
    fail("its checksum is wrong: it was changed or damaged; export or copy it again");
  }
  try {
    archive_ = Archive(all);
    manifest_ = read_manifest(archive_, subject_);
  } catch (const LoadError&) {
    throw;
  } catch (const std::exception& error) {
    const std::string reason = error.what();
    fail("is not a package that this version can read: " + reason.substr(0, reason.find('\n')));
  }
}

void Package::fail(const std::string& what) const { throw LoadError(subject_ + what); }

std::filesystem::path Package::unpack(const std::string& name,
                                      const std::filesystem::path& folder) const {
  std::string_view content = archive_.file(name);
  std::string whole;
  const auto lacks = std::ranges::find(manifest_.shared, name, &SharedBytes::file);
  if (lacks != manifest_.shared.end()) {
    whole = std::string(content.substr(0, lacks->at)) + std::string(archive_.file(lacks->part)) +
            std::string(content.substr(lacks->at));
    content = whole;
  }
  std::filesystem::path file = folder / std::filesystem::path(name).filename();
  if (file.extension() == ".so" && !is_whole_library(content)) {
    fail("its program " + file.filename().string() +
         " is not a whole library: it was cut off, or is for another kind of machine; export it "
         "again");
  }
  errno = 0;
  std::ofstream stream(file, std::ios::binary);
  stream << content;
  stream.close();
  if (!stream) {
    fail("its " + file.filename().string() + " of " + std::to_string(content.size()) +
         " bytes cannot be unpacked in " + folder.string() + ": " +
         std::generic_category().message(errno) +
         "; make room there, or set TENSOA_PACKAGE_FOLDER to another folder of yours");
  }
  return file;
}

void Package::require_machine() const {
  utsname here{};
  uname(&here);
  if (manifest_.machine == here.machine) return;
  fail("was made for " + manifest_.machine + ", this machine is " + here.machine +
       "; export it on a machine of this kind");
}

std::string missing_instructions(const std::vector<std::string>& needed) {
  static const std::set<std::string> here = cpu_flags();
  std::string missing;
  for (const std::string& flag : needed) {
    if (!here.contains(flag)) missing += ' ' + flag;
  }
  return missing;
}

}  // namespace tensoa::package
