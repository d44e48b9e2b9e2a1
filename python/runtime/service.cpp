// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "service.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "tensoa/core/nearest_name.hpp"
#include "tensoa/engine/location.hpp"
#include "tensoa/remote/engines.hpp"
#include "tensoa/remote/options.hpp"
#include "tensoa/remote/service_error.hpp"

namespace tensoa::python {
namespace {

using remote::OnNewVersion;
using remote::Options;

std::string repr_of(nb::handle value) { return nb::cast<std::string>(nb::repr(value)); }

/// A value that a keyword was given. @throws ConfigError for another type
template <class Value>
Value value_of(std::string_view name, nb::handle value, const char* expected) {
  Value converted{};
  if (PyBool_Check(value.ptr()) || !nb::try_cast(value, converted)) {
    throw ConfigError(std::string(name) + ": got " + repr_of(value) + ", expected " + expected);
  }
  return converted;
}

std::chrono::milliseconds time_of(std::string_view name, nb::handle value) {
  const auto seconds = value_of<double>(name, value, "seconds");
  constexpr double kYear = 365.0 * 24 * 3600;
  if (!(seconds >= 0)) {
    throw ConfigError(std::string(name) + ": got " + repr_of(value) +
                      ", expected 0 or more seconds");
  }
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(std::ceil(1000 * std::min(seconds, kYear))));
}

std::vector<std::pair<std::string, std::string>> headers_of(std::string_view name,
                                                            nb::handle value) {
  const auto refuse = [&] {
    throw ConfigError(std::string(name) + ": got an object of type " +
                      nb::cast<std::string>(nb::str(value.type().attr("__name__"))) +
                      ", expected a dict of texts, {name: value}");
  };
  std::vector<std::pair<std::string, std::string>> all;
  if (!nb::isinstance<nb::dict>(value)) refuse();
  for (const auto& [key, text] : nb::borrow<nb::dict>(value)) {
    if (!nb::isinstance<nb::str>(key) || !nb::isinstance<nb::str>(text)) refuse();
    all.emplace_back(nb::cast<std::string>(key.attr("lower")()), nb::cast<std::string>(text));
  }
  return all;
}

OnNewVersion on_new_version_of(std::string_view name, nb::handle value) {
  const auto word = value_of<std::string>(name, value, "\"stay\", \"fail\" or \"follow\"");
  if (word == "stay") return OnNewVersion::kStay;
  if (word == "fail") return OnNewVersion::kFail;
  if (word == "follow") return OnNewVersion::kFollow;
  throw ConfigError(std::string(name) + ": got " + repr_of(value) +
                    ", expected \"stay\", \"fail\" or \"follow\"");
}

/// A keyword of tensoa.Model, of the name of the member that it sets.
struct Keyword {
  std::string_view name;
  void (*set)(Options& options, std::string_view name, nb::handle value);
  bool is_path = false;
};

template <std::chrono::milliseconds Options::*Member>
void set_time(Options& options, std::string_view name, nb::handle value) {
  options.*Member = time_of(name, value);
}

template <std::string Options::*Member>
void set_text(Options& options, std::string_view name, nb::handle value) {
  options.*Member = value_of<std::string>(name, value, "a text");
}

constexpr std::array kKeywords{
    Keyword{"fallback", set_text<&Options::fallback>, true},
    Keyword{"deadline", set_time<&Options::deadline>},
    Keyword{"attempt_deadline", set_time<&Options::attempt_deadline>},
    Keyword{"load_deadline", set_time<&Options::load_deadline>},
    Keyword{"lookup_period", set_time<&Options::lookup_period>},
    Keyword{"attempts",
            [](Options& options, std::string_view name, nb::handle value) {
              options.retry.attempts = value_of<int>(name, value, "a number");
            }},
    Keyword{"checksum", set_text<&Options::checksum>},
    Keyword{"on_new_version",
            [](Options& options, std::string_view name, nb::handle value) {
              options.on_new_version = on_new_version_of(name, value);
            }},
    Keyword{"message_limit",
            [](Options& options, std::string_view name, nb::handle value) {
              options.message_limit = value_of<std::size_t>(name, value, "a number of bytes");
            }},
    Keyword{"ca_file", set_text<&Options::ca_file>, true},
    Keyword{"certificate_file", set_text<&Options::certificate_file>, true},
    Keyword{"key_file", set_text<&Options::key_file>, true},
    Keyword{"token_file", set_text<&Options::token_file>, true},
    Keyword{"headers", [](Options& options, std::string_view name,
                          nb::handle value) { options.headers = headers_of(name, value); }},
};

const Keyword& keyword_of(const std::string& name, const std::string& function,
                          std::vector<std::string> names) {
  const auto found = std::ranges::find(kKeywords, name, &Keyword::name);
  if (found != kKeywords.end()) return *found;
  for (const Keyword& keyword : kKeywords) names.emplace_back(keyword.name);
  throw nb::type_error(
      (function + ": got the keyword " + name + ", expected one of " + listed(names)).c_str());
}

/// As messages name options.
std::string name_of_option(std::string_view member) {
  if (member.starts_with("retry.")) member.remove_prefix(6);
  const auto found = std::ranges::find(kKeywords, member, &Keyword::name);
  return found == kKeywords.end() ? std::string() : std::string(member) + '=';
}

}  // namespace

void register_service() {
  remote::register_engines();
  remote::set_option_names(name_of_option);
}

ModelOptions service_options(const std::string& model, nb::dict& service,
                             const std::string& function, std::vector<std::string> others) {
  const nb::object path = nb::module_::import_("os").attr("path");
  const nb::object copy = nb::module_::import_("copy").attr("copy");
  const bool is_url = ModelLocation(model).is_url();
  Options options;
  nb::dict absolute;
  for (const auto& [name, value] : service) {
    const Keyword& keyword = keyword_of(nb::cast<std::string>(name), function, others);
    if (value.is_none() || (keyword.is_path && value.equal(nb::str("")))) continue;
    if (!is_url) {
      throw ConfigError(std::string(keyword.name) + ": got the model " + model +
                        ", which is a file, expected the URL of a model on servers");
    }
    const nb::object own = keyword.is_path ? path.attr("abspath")(value) : copy(value);
    if (keyword.is_path && nb::isinstance<nb::str>(value) &&
        ModelLocation(nb::cast<std::string>(value)).is_url()) {
      throw ConfigError(std::string(keyword.name) + ": got " + repr_of(value) +
                        ", expected the path of a file");
    }
    keyword.set(options, keyword.name, own);
    absolute[name] = own;
  }
  service = absolute;
  return is_url ? ModelOptions(options) : ModelOptions();
}

ModelOptions with_checksum(const ModelOptions& options, const std::string& checksum) {
  auto own = options.get<Options>();
  const bool may_be_any = own.on_new_version == OnNewVersion::kFollow;
  if (own.checksum.empty() && !may_be_any) own.checksum = checksum;
  return own;
}

bool has_service() noexcept { return true; }

bool set_service_error(const Error& error, const std::string& message) {
  const auto* const found = dynamic_cast<const remote::ServiceError*>(&error);
  if (found == nullptr) return false;
  const nb::object type = nb::module_::import_("tensoa.errors").attr("ServiceError");
  const nb::object made = type(message);
  made.attr("code") = found->code();
  made.attr("server") = found->server();
  made.attr("may_retry") = found->may_retry();
  PyErr_SetObject(type.ptr(), made.ptr());
  return true;
}

}  // namespace tensoa::python
