// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "kserve/messages.hpp"
#include "kserve/service_url.hpp"
#include "tensoa/package/published.hpp"

namespace tensoa::remote {

/// A model as a server has it. Immutable; one object for all servers that have the same, so that its address says which it is.
struct ServedModel {
  ModelMetadataReply metadata;

  /// SHA-256 of its file; empty: the server does not state which file it runs (only tensoa's back-end does).
  std::string checksum = {};

  /// Its columns, a block for each tensor of `metadata`; none: the server does not state them.
  std::optional<package::PublishedModel> published = {};

  /// Of a model without a checksum: the version of the URL, or else the highest one that the server had. Requests name it, so that a
  /// server refuses them where it has another by then; replies must have it, where they have one. Empty: the server does not state one.
  std::string version = {};

  /// For InferHeader: the server refuses the request where it has another file by then.
  std::string parameters = {};

  /// From the reply of a server without tensoa's back-end.
  static ServedModel of(ModelMetadataReply metadata, const ServiceUrl& url);

  /// From the reply of tensoa's back-end. @param reply to a request with package::kDescribeParameter, or to another
  /// @throws InputError for a description that cannot be read, or is not of the tensors of `metadata`
  static ServedModel of(ModelMetadataReply metadata, const ServiceUrl& url,
                        const InferReply& reply);

  /// That requests name.
  const std::string& version_for(const ServiceUrl& url) const {
    return version.empty() ? url.version : version;
  }

  /// Of the same file, or where that is not known: of the same platform, versions and tensors.
  bool is_same(const ServedModel& other) const;

  /// "the file 9f86… (x FP32[?, 3, ?] to y FP32[?, 2, ?])": what it is, for messages.
  std::string summary() const;

  /// The difference between the parameters of a reply and this model, "sent an answer of …"; empty: none. Allocates only for that.
  std::string difference(const InferReply& reply) const;
};

/// Whether tensoa's own back-end serves the model: its tensors are [1, planes, rows].
bool is_tensoa(const ModelMetadataReply& metadata);

}  // namespace tensoa::remote
