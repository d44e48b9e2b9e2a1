// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "api_errors.hpp"

#include <new>

#include "tensoa/core/error.hpp"

namespace tensoa::triton {

void require_ok(TRITONSERVER_Error* error, const char* what) {
  if (error == nullptr) return;
  const int code = TRITONSERVER_ErrorCode(error);
  const std::string message = TRITONSERVER_ErrorMessage(error);
  TRITONSERVER_ErrorDelete(error);
  throw ApiError(code, std::string(what) + ": " + message);
}

void log_failure(TRITONSERVER_Error* error, const char* what) noexcept {
  if (error == nullptr) return;
  TRITONSERVER_Error* second = nullptr;
  try {
    const std::string text =
        "tensoa: " + std::string(what) + " failed: " + TRITONSERVER_ErrorMessage(error);
    second = TRITONSERVER_LogMessage(TRITONSERVER_LOG_ERROR, __FILE__, __LINE__, text.c_str());
  } catch (...) {
    second = TRITONSERVER_LogMessage(TRITONSERVER_LOG_ERROR, __FILE__, __LINE__, what);
  }
  TRITONSERVER_ErrorDelete(error);
  if (second != nullptr) TRITONSERVER_ErrorDelete(second);
}

TRITONSERVER_Error* current_error() noexcept {
  try {
    throw;
  } catch (const ApiError& error) {
    return TRITONSERVER_ErrorNew(error.code(), error.what());
  } catch (const DeviceFullError& error) {
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNAVAILABLE, error.what());
  } catch (const DeviceError& error) {
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, error.what());
  } catch (const EngineError& error) {
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, error.what());
  } catch (const Error& error) {  // wrong use, wrong input
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, error.what());
  } catch (const std::bad_alloc&) {
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNAVAILABLE,
                                 "the server has no memory left for this request; send fewer rows");
  } catch (const std::exception& error) {
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, error.what());
  } catch (...) {
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL,
                                 "tensoa: an exception of an unknown type; please report it");
  }
}

}  // namespace tensoa::triton
