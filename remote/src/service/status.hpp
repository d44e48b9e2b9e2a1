// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "transport/transport.hpp"

/// @file
/// The meaning of the status of a failed call. Measured with Triton 2.51, Envoy 1.40 and gRPC 1.51; the table is in
/// docs/service.md.

namespace tensoa::remote {

/// The next action after an attempt.
enum class Verdict : std::uint8_t {
  kRefused,  ///< the server does not take the request, and never will: another one may
  kAnother,  ///< the server has another model file, or version, than the one that the request is for: nothing is said about the request
  kRepeat,   ///< may pass; the server works
  kElsewhere,  ///< the server is gone, going or stalled: another one, and later this one
};

Verdict verdict_of(const CallStatus& status);

/// Whether the status says that the server did not take the request: it runs nothing, and writes nothing to shared memory. Of others
/// it may be computing still, as where a proxy gives up.
bool was_not_taken(const CallStatus& status);

/// Whether Triton itself refused the request, by the names, dtypes and shapes that the model has: the model has not seen it.
bool is_about_tensors(const CallStatus& status);

/// "UNAVAILABLE (14)".
std::string name_of_code(int code);

/// Whether the server was not trusted: repeating the call does not help.
bool is_about_certificates(const CallStatus& status);

/// The advice for the user: the end of a message.
std::string advice_for(const CallStatus& status);

inline constexpr int kDeadlineExceeded = 4;
inline constexpr int kNotFound = 5;
inline constexpr int kInvalidArgument = 3;
inline constexpr int kPermissionDenied = 7;
inline constexpr int kResourceExhausted = 8;
inline constexpr int kInternal = 13;
inline constexpr int kFailedPrecondition = 9;
inline constexpr int kUnavailable = 14;
inline constexpr int kUnimplemented = 12;
inline constexpr int kUnauthenticated = 16;

}  // namespace tensoa::remote
