// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <caffe2/serialize/inline_container.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "package.hpp"
#include "sha256.hpp"
#include "support/temporary_folder.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/pytorch/inspect.hpp"

// The manifest of a package and, after a form feed, the first bytes of its program; with the right
// checksum. Refused with a LoadError, or unpacked and described.

namespace {

using namespace tensoa;

std::string package_of(std::string_view manifest, std::string_view program) {
  std::string package;
  caffe2::serialize::PyTorchStreamWriter archive([&package](const void* bytes, std::size_t size) {
    package.append(static_cast<const char*>(bytes), size);
    return size;
  });
  const auto add = [&archive](const std::string& name, std::string_view bytes) {
    archive.writeRecord(name, bytes.data(), bytes.size());
  };
  add("extra/tensoa.json", manifest);
  add("data/aotinductor/model/program.so", program);
  add("fused.so", program);
  add("recorded.bin", program);
  archive.writeEndOfFile();
  package += "tensoa sha256 ";
  return package + pytorch::sha256(package);
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
  expect_answer_or_load_error([&] { pytorch::Package(file, Device::cpu(), ""); });
  expect_answer_or_load_error([&] { pytorch::Package(file, Device::cuda(), "sm_90"); });
  expect_answer_or_load_error([&] { pytorch::recorded_results(file); });
  return 0;
}
