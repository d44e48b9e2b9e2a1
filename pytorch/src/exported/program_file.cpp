// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "exported/program_file.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace tensoa::pytorch::exported {
namespace {

// The numbers are those of torch/_export/serde/schema.py; those from 33 on came with torch 2.12 to 2.15.
constexpr std::array<std::pair<std::int64_t, c10::ScalarType>, 21> kScalarTypes{{
    {1, c10::ScalarType::Byte},
    {2, c10::ScalarType::Char},
    {3, c10::ScalarType::Short},
    {4, c10::ScalarType::Int},
    {5, c10::ScalarType::Long},
    {6, c10::ScalarType::Half},
    {7, c10::ScalarType::Float},
    {8, c10::ScalarType::Double},
    {9, c10::ScalarType::ComplexHalf},
    {10, c10::ScalarType::ComplexFloat},
    {11, c10::ScalarType::ComplexDouble},
    {12, c10::ScalarType::Bool},
    {13, c10::ScalarType::BFloat16},
    {28, c10::ScalarType::UInt16},
    {29, c10::ScalarType::Float8_e4m3fn},
    {30, c10::ScalarType::Float8_e5m2},
    {31, c10::ScalarType::Float8_e4m3fnuz},
    {32, c10::ScalarType::Float8_e5m2fnuz},
    {33, c10::ScalarType::Float8_e8m0fnu},
    {34, c10::ScalarType::UInt32},
    {35, c10::ScalarType::UInt64},
}};

constexpr std::int64_t kStrided = 7;

// Of the archive; its JSON has a separate version (program.cpp).
constexpr std::string_view kVersionFile = "archive_version";
constexpr std::string_view kVersion = "0";

std::vector<std::int64_t> whole_numbers(const Json& symbolic) {
  std::vector<std::int64_t> values;
  for (const Json& one : symbolic) values.push_back(number(member(one, "as_int")));
  return values;
}

/// Elements from the first of the storage to the last of the tensor; nothing where that cannot be counted.
bool fits(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides,
          std::int64_t offset, std::size_t element, std::size_t bytes) {
  std::int64_t last = offset;
  std::int64_t elements = 1;
  const auto most = static_cast<std::int64_t>(bytes / element);
  if (sizes.size() != strides.size() || offset < 0) return false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::int64_t step = 0;
    if (sizes[i] < 0 || strides[i] < 0) return false;
    if (__builtin_mul_overflow(elements, sizes[i], &elements)) return false;
    if (sizes[i] == 0) continue;
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &step)) return false;
    if (__builtin_add_overflow(last, step, &last)) return false;
  }
  return elements == 0 || last < most;
}

at::Tensor read_tensor(const Json& meta, std::string_view bytes, const std::string& name) {
  const c10::ScalarType dtype = scalar_type_of(member(meta, "dtype"));
  const std::vector<std::int64_t> sizes = whole_numbers(array(meta, "sizes"));
  const std::vector<std::int64_t> strides = whole_numbers(array(meta, "strides"));
  const std::int64_t offset = number(member(member(meta, "storage_offset"), "as_int"));
  const std::size_t element = c10::elementSize(dtype);
  if (number(member(meta, "layout")) != kStrided) {
    throw std::runtime_error("its tensor " + name + " is sparse; expected a strided one");
  }
  if (!fits(sizes, strides, offset, element, bytes.size())) {
    throw std::runtime_error("its tensor " + name + " needs more than the " +
                             std::to_string(bytes.size()) +
                             " bytes that are in its file: it was cut off or damaged; save it "
                             "again");
  }
  // In new storage, so that a tensor that is written to does not change others of the same storage.
  at::Tensor storage = at::empty({static_cast<std::int64_t>(bytes.size() / element)},
                                 c10::TensorOptions().dtype(dtype));
  std::memcpy(storage.mutable_data_ptr(), bytes.data(), bytes.size() / element * element);
  const at::Tensor tensor = storage.as_strided(sizes, strides, offset);
  return tensor.nbytes() == storage.nbytes() ? tensor : tensor.clone();
}

}  // namespace

c10::ScalarType scalar_type_of(const Json& number_of_type) {
  const std::int64_t wanted = number(number_of_type);
  const auto* found =
      std::ranges::find(kScalarTypes, wanted, [](const auto& pair) { return pair.first; });
  if (found == kScalarTypes.end()) {
    throw std::runtime_error("it has tensors of the dtype number " + std::to_string(wanted) +
                             " of torch.export, which tensoa does not read; save it again with " +
                             kWriters + ", or with tensors of another dtype");
  }
  return found->second;
}

ProgramFile::ProgramFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(0, std::ios::end);
  bytes_.resize(static_cast<std::size_t>(std::max<std::streamoff>(file.tellg(), 0)));
  file.seekg(0);
  if (!file.read(bytes_.data(), static_cast<std::streamsize>(bytes_.size()))) {
    throw std::runtime_error("it cannot be read");
  }
  archive_ = package::Archive(bytes_);
  archive_.require_checksums();
  std::vector<std::string> names;  // of programs
  bool is_old = false;
  for (const package::Archive::File& entry : archive_.files()) {
    if (entry.name.starts_with("models/") && entry.name.ends_with(".json")) {
      names.push_back(entry.name.substr(7, entry.name.size() - 12));
    }
    is_old = is_old || entry.name == "serialized_exported_program.json";
  }
  const auto has = [&](std::string_view name) {
    return std::ranges::find(archive_.files(), name, &package::Archive::File::name) !=
           archive_.files().end();
  };
  // Is raised where what older programs look for has gone from its place.
  if (has(kVersionFile) && archive_.file(kVersionFile) != kVersion) {
    throw std::runtime_error("its archive has version " + std::string(archive_.file(kVersionFile)) +
                             " of the format of torch.export, this tensoa reads version " +
                             std::string(kVersion) + "; save it again with " + kWriters);
  }
  if (!is_old && names.size() != 1) {
    throw std::runtime_error("it holds " + std::to_string(names.size()) +
                             " programs of torch.export; expected one");
  }
  const std::string config = is_old ? "" : "data/weights/" + names[0] + "_weights_config.json";
  if (is_old || !has(config)) {
    throw std::runtime_error(
        "its weights are pickled, as older versions of torch wrote them; load it in Python with "
        "torch.export.load of torch 2.11 or newer, and save it again with torch.export.save");
  }
  const auto read = [&](const std::string& name) { return parse_json(archive_.file(name), name); };
  program_ = read("models/" + names[0] + ".json");
  weights_ = member(read(config), "config");
  constants_ = member(read("data/constants/" + names[0] + "_constants_config.json"), "config");
}

at::Tensor ProgramFile::tensor(const std::string& name) const {
  for (const auto& [config, folder] :
       {std::pair{&weights_, "data/weights/"}, std::pair{&constants_, "data/constants/"}}) {
    const auto found = config->is_object() ? config->find(name) : config->end();
    if (found == config->end()) continue;
    if (member(*found, "use_pickle") != Json(false)) {
      throw std::runtime_error("its tensor " + name +
                               " is pickled, which only Python reads: it is an object or a tensor "
                               "of the model's own class; export the module with plain tensors");
    }
    return read_tensor(member(*found, "tensor_meta"),
                       archive_.file(folder + text(member(*found, "path_name"))), name);
  }
  throw std::runtime_error("its tensor " + name + " is missing");
}

}  // namespace tensoa::pytorch::exported
