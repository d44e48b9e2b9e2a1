// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "device_server.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "protobuf/encoder.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/core/queue.hpp"

namespace tensoa::test {
namespace {

std::vector<float> numbers_of(const std::string& bytes) {
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

std::vector<float> read(const ImportedMemory& memory, const Range& range) {
  const Queue queue(memory.device());
  std::vector<float> numbers(range.bytes / sizeof(float));
  copy_bytes(queue, numbers.data(), Device::cpu(), memory.data() + range.offset, memory.device(),
             range.bytes);
  queue.wait();
  return numbers;
}

/// The numbers as float64 where they are wide, else as float32.
std::string bytes_of(const std::vector<float>& numbers, bool are_wide) {
  const std::vector<double> wide(numbers.begin(), numbers.end());
  const auto* const data = are_wide ? reinterpret_cast<const char*>(wide.data())
                                    : reinterpret_cast<const char*>(numbers.data());
  return {data, numbers.size() * (are_wide ? sizeof(double) : sizeof(float))};
}

void write(const ImportedMemory& memory, const Range& range, const std::string& bytes) {
  const Queue queue(memory.device());
  copy_bytes(queue, memory.data() + range.offset, memory.device(), bytes.data(), Device::cpu(),
             std::min<std::size_t>(range.bytes, bytes.size()));
  queue.wait();
}

/// The version in metadata and answers, next to "1".
std::string version_field(const std::string& version) {
  remote::protobuf::Encoder message;
  message.text(2, version);
  return message.take();
}

}  // namespace

FakeReply DeviceServer::operator()(const std::string& method, const std::string& request) {
  if (method == "test") return test(request);
  if (method == remote::kModelMetadata) {
    std::string reply = metadata_reply("double", "tensoa", {{"x", "FP32", {1, 2, -1}}},
                                       {{"y", output_type(), {1, 2, -1}}});
    if (mode_ == "narrow") reply += version_field("2");
    return {.message = std::move(reply)};
  }
  if (method == remote::kDeviceMemoryRegister) return register_region(request);
  if (method == remote::kDeviceMemoryUnregister) {
    ++done_["unregistered"];
    regions_.clear();
    return {};
  }
  if (method == remote::kModelInfer) return infer(request);
  return {.message = std::string("\x08\x01", 2)};  // ready
}

FakeReply DeviceServer::test(const std::string& what) {
  if (what == "forget" || what == "reset") regions_.clear();
  if (what == "reset") {
    done_.clear();
    mode_.clear();
  } else if (!what.empty()) {
    mode_ = what;
  }
  FakeReply reply;
  for (const char* const name : {"registered", "unregistered", "by_region", "by_wire"}) {
    reply.message +=
        (reply.message.empty() ? "" : " ") + std::string(name) + ' ' + std::to_string(done_[name]);
  }
  return reply;
}

FakeReply DeviceServer::register_region(const std::string& request) {
  if (mode_ == "refuse") {
    return {.status = {.code = 12, .message = "failed to register CUDA shared memory region"}};
  }
  std::string name;
  std::string raw;
  int device = 0;
  const std::vector pieces{std::as_bytes(std::span(request))};
  for_each_field(remote::protobuf::Bytes(pieces), [&](const auto& field) {
    if (field.number == 1) name = field.bytes.text();
    if (field.number == 2) raw = field.bytes.text();
    if (field.number == 3) device = static_cast<int>(field.value);
  });
  MemoryHandle handle{};
  if (raw.size() != handle.size()) return {.status = {.code = 3, .message = "no handle"}};
  std::memcpy(handle.data(), raw.data(), raw.size());
  try {
    regions_.emplace(name, ImportedMemory(Device::cuda(device), handle));
  } catch (const Error& error) {
    return {.status = {.code = 3, .message = error.what()}};
  }
  ++done_["registered"];
  return {};
}

FakeReply DeviceServer::infer(const std::string& request) {
  const SeenRequest seen = parse_request(request);
  if (!seen.parameters.empty()) return {};  // a question that it does not support
  const Range in = ranges_of(request, 5, 4).at(0);
  // Whether the server is back is asked by the wire, with one row.
  const bool is_probe = in.region.empty() && seen.inputs.at(0).sizes.back() == 1;
  const auto all_out = ranges_of(request, 6, 2);
  const Range out = all_out.empty() ? Range{} : all_out[0];
  for (const Range& range : {in, out}) {
    if (!is_probe) ++done_[range.region.empty() ? "by_wire" : "by_region"];
    if (!range.region.empty() && !regions_.contains(range.region)) {
      return {.status = {.code = 5, .message = "Unable to find shared memory region"}};
    }
  }
  std::vector<float> numbers =
      in.region.empty() ? numbers_of(seen.raw.at(0)) : read(regions_.at(in.region), in);
  for (float& number : numbers) number *= 2;
  if (mode_ == "full" && !is_probe) {
    mode_.clear();
    return {.status = {.code = 8, .message = "Exceeds maximum queue size"}};
  }
  if (mode_ == "fail" || mode_ == "stall") {
    if (!out.region.empty()) {
      write(regions_.at(out.region), out,
            bytes_of(std::vector<float>(numbers.size(), 4711), false));
    }
    if (mode_ == "fail") return {.status = {.code = 3, .message = "the model refuses"}};
    mode_.clear();
    return {.status = {.code = 4, .message = "Deadline Exceeded"}};
  }
  const remote::WireTensor tensor{
      "y", output_type(), {1, 2, static_cast<std::int64_t>(numbers.size() / 2)}};
  std::string raw = bytes_of(numbers, mode_ == "wide");
  if (!out.region.empty()) write(regions_.at(out.region), out, raw);
  std::string reply = infer_reply({tensor}, {out.region.empty() ? std::move(raw) : ""});
  if (mode_ == "narrow") reply += version_field("2");
  return {.message = std::move(reply)};
}

std::string DeviceServer::output_type() const { return mode_ == "wide" ? "FP64" : "FP32"; }

}  // namespace tensoa::test
