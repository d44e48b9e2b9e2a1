// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "service/status.hpp"

#include <array>
#include <cstddef>
#include <string_view>

#include "service/option_names.hpp"
#include "tensoa/package/published.hpp"

namespace tensoa::remote {
namespace {

constexpr std::array<std::string_view, 17> kNamesOfCodes{
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// The messages are those of OpenSSL and BoringSSL, in what gRPC 1.51 and newer ones make of them. They do not state why.
bool is_not_trusted(const std::string& message) {
  return has(message, "certificate verify failed") || has(message, "CERTIFICATE_VERIFY_FAILED");
}

bool has_another_name(const std::string& message) {
  return has(message, "not in peer certificate") ||
         has(message, "Hostname Verification Check failed");
}

std::string advice_for_connection(const std::string& message) {
  if (is_not_trusted(message)) {
    return "the certificate of the server, or one that signed it, has expired, or no authority "
           "that "
           "is trusted" +
           with_option(" (", "ca_file", "; without it those of the system)") +
           " signed it: `openssl s_client -connect HOST:PORT -CAfile FILE` says which";
  }
  if (has_another_name(message)) {
    return "the certificate of the server is for another name: use that in the URL";
  }
  if (has(message, "wrong version number") || has(message, "WRONG_VERSION_NUMBER")) {
    return "the server is not encrypted at this port: use grpc://, or its port for TLS";
  }
  const bool is_closed = has(message, "Socket closed") || has(message, "reset by peer");
  return std::string("check host and port, and whether a server runs there; ") +
         (is_closed ? "one that closes connections may want TLS (grpcs://), or a client's "
                      "certificate that has not expired" +
                          with_option(" (", "certificate_file", ")") + "; "
                    : "") +
         "more servers in the URL" + with_option(", or ", "fallback", ",") +
         " keep events from being lost";
}

}  // namespace

Verdict verdict_of(const CallStatus& status) {
  switch (status.code) {
    case kInvalidArgument:
      return has(status.message, package::kOtherFileMessage) ? Verdict::kAnother
                                                             : Verdict::kRefused;
    case kUnavailable:
    case kDeadlineExceeded:
      return Verdict::kElsewhere;
    case kNotFound:
      // A Triton that is stopping answers so, and fast: it would draw all the traffic.
      if (has(status.message, "no available versions") || has(status.message, "is not ready")) {
        return Verdict::kElsewhere;
      }
      // "Request for unknown model: 'net' version 1 is not found": that of the request.
      return has(status.message, "version") ? Verdict::kAnother : Verdict::kRefused;
    case 1:   // CANCELLED: not by us
    case 10:  // ABORTED
      return Verdict::kRepeat;
    case kResourceExhausted:  // a full queue; but gRPC's own limits stay what they are
      return has(status.message, "larger than max") ? Verdict::kRefused : Verdict::kRepeat;
    case 2:  // UNKNOWN: gRPC 1.51 says so of some lost connections
      return has(status.message, "Stream removed") ? Verdict::kElsewhere : Verdict::kRefused;
    case kInternal:
      return has(status.message, "RST_STREAM") ? Verdict::kElsewhere : Verdict::kRefused;
    default:
      return Verdict::kRefused;
  }
}

bool was_not_taken(const CallStatus& status) {
  switch (status.code) {
    case kInvalidArgument:
    case kNotFound:
    case kPermissionDenied:
    case kUnimplemented:
    case kUnauthenticated:
      return true;
    case kResourceExhausted:
      // A stream that was cut (ENHANCE_YOUR_CALM) has the same code, and may be running.
      return !has(status.message, "RST_STREAM");
    default:
      return false;
  }
}

bool is_about_tensors(const CallStatus& status) {
  return status.code == kInvalidArgument && has(status.message, "[request id:");
}

std::string name_of_code(int code) {
  const auto known = static_cast<std::size_t>(code) < kNamesOfCodes.size();
  return std::string(known ? kNamesOfCodes[static_cast<std::size_t>(code)] : "unknown code") +
         " (" + std::to_string(code) + ')';
}

bool is_about_certificates(const CallStatus& status) {
  return status.code == kUnavailable &&
         (is_not_trusted(status.message) || has_another_name(status.message));
}

std::string advice_for(const CallStatus& status) {
  switch (status.code) {
    case kUnavailable:
      return advice_for_connection(status.message);
    case kDeadlineExceeded:
      return "the server is overloaded or stalled; " +
             with_option("give it more time (", "deadline", "), or ") + "use more servers";
    case kNotFound:
      return "check the model's name and version; the server's model repository has the list";
    case kInvalidArgument:
      if (verdict_of(status) == Verdict::kAnother) {
        return "deploy one file to all servers, or load the model again" +
               with_option(" (", "on_new_version", ")");
      }
      return "bind what the model of the server expects; `tensoa inspect URL` prints it";
    case kResourceExhausted:
      return "send fewer rows at a time, raise the limits of messages on both sides, or use more "
             "servers";
    case kUnimplemented:
      return "the server does not speak KServe v2 over gRPC at this port (Triton: usually 8001)";
    case kPermissionDenied:
    case kUnauthenticated:
      return "give a token that is valid and has not expired" +
             with_option(" (", "token_file", ")") + ", another secret" +
             with_option(" (", "headers", ")") + ", or a client's certificate" +
             with_option(" (", "certificate_file", ")");
    default:
      return "the log of the server may say more";
  }
}

}  // namespace tensoa::remote
