// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/engine/engine.hpp"

#include <exception>
#include <new>

#include "tensoa/core/error.hpp"

namespace tensoa {

std::vector<std::size_t> Engine::match(const Binding& binding, const std::string& subject) const {
  return match_arguments(binding, signature(), subject);
}

std::shared_ptr<const Prepared> Engine::prepare(const Binding& /*binding*/,
                                                std::vector<std::size_t> arguments) const {
  return std::make_shared<const Prepared>(std::move(arguments));
}

void Engine::submit(const Queue& queue, const Binding& binding, const Prepared& prepared,
                    Completion completion) const {
  CopyReport report;
  try {
    report = run(queue, binding, prepared);
  } catch (...) {
    return completion(current_failure());
  }
  complete_after(queue, report, std::move(completion));
}

Result<CopyReport> current_failure() {
  try {
    throw;
  } catch (const Error&) {
    return Result<CopyReport>::failure(std::current_exception());
  } catch (const std::exception& error) {
    return Result<CopyReport>::failure(EngineError(error.what()));
  } catch (...) {
    return Result<CopyReport>::failure(EngineError("a call threw what is not a std::exception"));
  }
}

void complete_after(const Queue& queue, const CopyReport& report, Completion completion) {
  if (queue.device().is_cpu()) return completion(report);
  // Both sides have it: where nothing can be enqueued it is called here.
  const auto shared = std::make_shared<Completion>(std::move(completion));
  try {
    queue.when_settled([shared, report](std::exception_ptr failure) {
      (*shared)(failure ? Result<CopyReport>::failure(std::move(failure))
                        : Result<CopyReport>(report));
    });
  } catch (...) {
    (*shared)(current_failure());
  }
}

}  // namespace tensoa
