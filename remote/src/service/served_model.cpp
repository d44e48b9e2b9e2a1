// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "service/served_model.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "kserve/datatypes.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/printable.hpp"
#include "tensoa/package/sha256.hpp"

namespace tensoa::remote {
namespace {

/// The name of the back-end of tensoa.
constexpr std::string_view kTensoaPlatform = "tensoa";

/// A checksum is compared as a whole, but shown so far.
constexpr std::size_t kShown = 12;

std::string list_of(const std::vector<WireTensor>& tensors) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t i = 0; i < tensors.size() && i < kMost; ++i) {
    text += (i == 0 ? "" : ", ") + tensors[i].name + ' ' +
            tensor_type(tensors[i].datatype, tensors[i].sizes);
  }
  return tensors.size() > kMost ? text + ", …" : text;
}

std::string file_called(const std::string& checksum) {
  return "the file " + checksum.substr(0, kShown) + (checksum.size() > kShown ? "…" : "");
}

/// The blocks of a description are the tensors of the metadata, in any order.
void require_described(const std::vector<WireTensor>& tensors,
                       const std::vector<BlockDescription>& blocks) {
  for (const WireTensor& tensor : tensors) {
    const auto block = std::ranges::find(blocks, tensor.name, &BlockDescription::name);
    const bool fits =
        block != blocks.end() && tensor.datatype == kserve_name(block->element.dtype) &&
        tensor.sizes.size() == 3 &&
        std::cmp_equal(tensor.sizes[1], block->columns.size() * block->element.planes());
    if (!fits || tensors.size() != blocks.size()) {
      throw InputError("description of a served model: its blocks are not the tensors " +
                       list_of(tensors));
    }
  }
}

}  // namespace

ServedModel ServedModel::of(ModelMetadataReply metadata, const ServiceUrl& url) {
  ServedModel model{.metadata = std::move(metadata)};
  const std::vector<std::string>& versions = model.metadata.versions;
  if (!url.version.empty()) {
    model.version = url.version;
  } else if (!versions.empty()) {
    // A server runs the highest number where a request names none.
    model.version = *std::ranges::max_element(
        versions, {}, [](const std::string& number) { return std::pair(number.size(), number); });
  }
  return model;
}

ServedModel ServedModel::of(ModelMetadataReply metadata, const ServiceUrl& url,
                            const InferReply& reply) {
  if (reply.checksum.empty()) return of(std::move(metadata), url);
  ServedModel model{.metadata = std::move(metadata), .checksum = reply.checksum.text()};
  if (!package::is_checksum(model.checksum)) {
    throw InputError("description of a served model: its checksum is " + printable(model.checksum) +
                     ", expected 64 hexadecimal digits");
  }
  model.parameters = encode_parameter(package::kChecksumParameter, model.checksum);
  if (reply.model.empty()) return model;
  model.published = package::parse_published(reply.model.text());
  if (model.published->checksum != model.checksum) {
    throw InputError("description of a served model: it is of " +
                     file_called(model.published->checksum) + ", expected " +
                     file_called(model.checksum) + ", which the same answer is of");
  }
  require_described(model.metadata.inputs, model.published->model.binding->inputs);
  require_described(model.metadata.outputs, model.published->model.binding->outputs);
  return model;
}

bool ServedModel::is_same(const ServedModel& other) const {
  if (checksum != other.checksum || metadata.inputs != other.metadata.inputs ||
      metadata.outputs != other.metadata.outputs || metadata.platform != other.metadata.platform) {
    return false;
  }
  return !checksum.empty() || metadata.versions == other.metadata.versions;
}

std::string ServedModel::summary() const {
  std::string text;
  if (checksum.empty()) {
    text = "a model of unknown file, platform " +
           (metadata.platform.empty() ? "unknown" : metadata.platform) + ", version ";
    for (std::size_t i = 0; i < metadata.versions.size(); ++i) {
      text += (i == 0 ? "" : ", ") + metadata.versions[i];
    }
    if (metadata.versions.empty()) text += "unknown";
  } else {
    text = file_called(checksum);
  }
  return text + " (" + list_of(metadata.inputs) + " to " + list_of(metadata.outputs) + ')';
}

std::string ServedModel::difference(const InferReply& reply) const {
  if (!checksum.empty()) {
    if (reply.checksum == checksum) return {};
    if (reply.checksum.empty()) {
      return "sent an answer that does not state of which file it is, expected " +
             file_called(checksum);
    }
    return "sent an answer of " + file_called(printable(reply.checksum.text())) + ", expected " +
           file_called(checksum);
  }
  if (version.empty() || reply.version.empty() || reply.version == version) return {};
  return "sent an answer of version " + printable(reply.version.text()) + ", expected " + version;
}

bool is_tensoa(const ModelMetadataReply& metadata) { return metadata.platform == kTensoaPlatform; }

}  // namespace tensoa::remote
