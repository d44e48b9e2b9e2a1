// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fused.hpp"
#include "inspect_package.hpp"
#include "package/zip_writer.hpp"
#include "support/temporary_folder.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/package/inspect.hpp"
#include "tensoa/package/sha256.hpp"

// The manifest of a package and, after a form feed, the first bytes of its program; with the right
// checksum. Refused with a LoadError, or read, unpacked and described.

namespace {

using namespace tensoa;

std::string package_of(std::string_view manifest, std::string_view program) {
  test::ZipWriter archive;
  archive.add("model/extra/tensoa.json", manifest);
  archive.add("model/data/aotinductor/model/program.so", program);
  archive.add("model/fused.so", program);
  archive.add("model/recorded.bin", program);
  std::string package = archive.finish("tensoa sha256 " + std::string(64, '0'));
  package.resize(package.size() - 64);
  return package + package::sha256(package);
}

template <class Call>
void expect_answer_or_load_error(const Call& call) {
  try {
    call();
  } catch (const LoadError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const test::TemporaryFolder folder;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(all.find('\f'), all.size());
  const std::string program(all.substr(std::min(end + 1, all.size())));
  const auto file = folder.write("model.pt2", package_of(all.substr(0, end), program));
  expect_answer_or_load_error([&] {
    const package::Package read(file);
    static const test::TemporaryFolder unpacked;
    for (const char* name : {"data/aotinductor/model/program.so", "fused.so"}) {
      expect_answer_or_load_error([&] { read.unpack(name, unpacked.path()); });
    }
    for (const package::TargetDescription& target : read.manifest().targets) {
      expect_answer_or_load_error(
          [&] { package::code_for(read, target.programs, Device::cuda(), "sm_90"); });
    }
  });
  expect_answer_or_load_error([&] { package::inspect_package(file); });
  expect_answer_or_load_error([&] { package::recorded_results(file, DeviceKind::kCpu); });
  return 0;
}
