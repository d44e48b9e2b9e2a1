// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "resume_file.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "tensoa/core/error.hpp"
#include "tensoa/core/output_file.hpp"
#include "tensoa/core/read_file.hpp"
#include "tensoa/package/inspect.hpp"
#include "tensoa/package/sha256.hpp"

namespace tensoa::tools {
namespace {

namespace fs = std::filesystem;

/// The size of a file, and its first and last bytes.
std::string sample_of(const fs::path& path) {
  constexpr std::uintmax_t kSample = 4096;
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) return "not readable";
  std::ifstream stream(path, std::ios::binary);
  std::string sample(2 * kSample, '\0');
  const auto read = [&](std::uintmax_t from, char* to) {
    stream.clear();
    stream.seekg(static_cast<std::streamoff>(from));
    stream.read(to, static_cast<std::streamsize>(kSample));
  };
  read(0, sample.data());
  read(size > kSample ? size - kSample : 0, sample.data() + kSample);
  return std::to_string(size) + ' ' + package::sha256(sample);
}

}  // namespace

std::string identity_of_model(const std::string& model, const std::string& fallback,
                              const ModelOptions& options) {
  if (model.find("://") == std::string::npos) return package::checksum_of_file(model);
  // Servers may be down, and of some it is not known whether they have the fallback.
  if (!fallback.empty()) return model + ' ' + package::checksum_of_file(fallback);
  const std::string served = package::inspect(model, options).checksum;
  return served.empty() ? model : served;
}

std::string identity_of_inputs(const std::vector<const events::EventSource*>& sources) {
  std::string all;
  const fs::path* last = nullptr;
  for (const events::EventSource* source : sources) {
    all += source->name() + '\n';
    const fs::path* file = source->file();
    if (file == nullptr) {
      all += source->origin() + '\n';
    } else if (file != last) {  // a table has many events
      all += sample_of(*file) + '\n';
    }
    last = file;
  }
  return package::sha256(all);
}

RunProgress read_resume_file(const std::string& path) {
  std::string text;
  try {
    text = read_file(path);
  } catch (const InputError& error) {
    throw InputError(std::string("--resume: ") + error.what());
  }
  const InputError other("--resume: " + path +
                         " is not a file that `tensoa track` left when it was stopped");
  try {
    const auto json = nlohmann::json::parse(text);
    const auto count = [&](const char* key) {
      // get() would make a large number of a negative one.
      if (!json.at(key).is_number_unsigned()) throw other;
      return json.at(key).get<std::size_t>();
    };
    RunProgress progress{count("events_done"),
                         {.model = json.at("model").get<std::string>(),
                          .graph = json.at("graph").get<std::string>(),
                          .min_score = json.at("cut").get<float>(),
                          .events = count("events"),
                          .inputs = json.at("inputs").get<std::string>()}};
    if (progress.done > progress.run.events) throw other;
    return progress;
  } catch (const nlohmann::json::exception&) {
    throw other;
  }
}

void write_resume_file(const std::string& path, const RunProgress& progress) {
  OutputFile file(path);
  const nlohmann::ordered_json json{
      {"events_done", progress.done},  {"events", progress.run.events},
      {"model", progress.run.model},   {"graph", progress.run.graph},
      {"cut", progress.run.min_score}, {"inputs", progress.run.inputs}};
  write_file(file, json.dump() + '\n');
}

void require_same_run(const std::string& path, const RunIdentity& stopped,
                      const RunIdentity& resumed) {
  if (stopped == resumed) return;
  std::string difference;
  const auto add = [&](bool differs, const std::string& what) {
    if (differs) difference += (difference.empty() ? "" : ", ") + what;
  };
  add(stopped.model != resumed.model, "another model");
  add(stopped.graph != resumed.graph, "other graph rules");
  add(stopped.min_score != resumed.min_score,
      fmt::format("--cut {} (now {})", stopped.min_score, resumed.min_score));
  add(stopped.events != resumed.events,
      fmt::format("{} events (now {})", stopped.events, resumed.events));
  add(stopped.events == resumed.events && stopped.inputs != resumed.inputs, "other inputs");
  throw ConfigError(
      "--resume: the run that left " + path + " had " + difference +
      "; expected the same model, graph rules, cut and inputs, so that both parts fit each other");
}

}  // namespace tensoa::tools
