// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tree_peers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <tuple>
#include <utility>

#include "library.hpp"
#include "onnxruntime.hpp"

namespace tensoa::peers {
namespace {

using std::filesystem::path;

/// Calls functions of a library that return 0, or an error that another function has the words for.
class CLibrary {
 public:
  CLibrary(path file, const char* last_error)
      : file_(std::move(file)),
        last_error_(reinterpret_cast<const char* (*)()>(symbol(file_, last_error))) {}

  template <class... Parameters>
  auto function(const char* name) const {
    const auto function = reinterpret_cast<int (*)(Parameters...)>(symbol(file_, name));
    return [function, last_error = last_error_](Parameters... parameters) {
      if (function(parameters...) != 0) throw EngineError(last_error());
    };
  }

 private:
  path file_;
  const char* (*last_error_)();
};

/// Calls one of XGBoost's functions that predict, with a row-major matrix.
template <class Function>
std::function<void(const float*, std::int64_t)> xgboost_call(
    const Function& predict, void* booster, std::size_t columns,
    const std::shared_ptr<const float*>& answers) {
  return [=](const float* rows, std::int64_t n) {
    const std::string matrix =
        fmt::format(R"({{"data": [{}, true], "shape": [{}, {}], "typestr": "<f4", "version": 3}})",
                    reinterpret_cast<std::uintptr_t>(rows), n, columns);
    constexpr const char* kMargins =
        R"({"type": 1, "training": false, "iteration_begin": 0, "iteration_end": 0, "missing": NaN, )"
        R"("strict_shape": false, "cache_id": 0})";
    const std::uint64_t* shape = nullptr;
    std::uint64_t rank = 0;
    predict(booster, matrix.c_str(), kMargins, nullptr, &shape, &rank, answers.get());
  };
}

/// A model of XGBoost, until the program ends.
void* xgboost_booster(const CLibrary& library, const path& model, const char* parameter,
                      const std::string& value) {
  void* booster = nullptr;
  library.function<void* const*, std::uint64_t, void**>("XGBoosterCreate")(nullptr, 0, &booster);
  library.function<void*, const char*>("XGBoosterLoadModel")(booster, model.c_str());
  library.function<void*, const char*, const char*>("XGBoosterSetParam")(booster, parameter,
                                                                         value.c_str());
  return booster;
}

auto xgboost_function(const CLibrary& library, const char* name) {
  return library.function<void*, const char*, const char*, void*, const std::uint64_t**,
                          std::uint64_t*, const float**>(name);
}

TreePeer xgboost(const path& file, const path& model, std::size_t columns) {
  const CLibrary library(file, "XGBGetLastError");
  const auto answers = std::make_shared<const float*>(nullptr);
  return {"xgboost",
          xgboost_call(xgboost_function(library, "XGBoosterPredictFromDense"),
                       xgboost_booster(library, model, "nthread", "1"), columns, answers),
          [answers](std::size_t row) { return (*answers)[row]; }};
}

TreePeer lightgbm(const path& file, const path& model, std::size_t columns) {
  constexpr int kFloat32 = 0;
  constexpr int kRowMajor = 1;
  constexpr int kRawScore = 1;
  constexpr int kAllTrees = -1;
  constexpr const char* kOneThread = "num_threads=1";
  const CLibrary library(file, "LGBM_GetLastError");
  void* booster = nullptr;  // until the program ends, as is the next one
  void* fast = nullptr;
  int iterations = 0;
  const auto width = static_cast<std::int32_t>(columns);
  library.function<const char*, int*, void**>("LGBM_BoosterCreateFromModelfile")(
      model.c_str(), &iterations, &booster);
  library.function<void*, int, int, int, int, std::int32_t, const char*, void**>(
      "LGBM_BoosterPredictForMatSingleRowFastInit")(booster, kRawScore, 0, kAllTrees, kFloat32,
                                                    width, kOneThread, &fast);
  const auto predict_row = library.function<void*, const void*, std::int64_t*, double*>(
      "LGBM_BoosterPredictForMatSingleRowFast");
  const auto predict =
      library.function<void*, const void*, int, std::int32_t, std::int32_t, int, int, int, int,
                       const char*, std::int64_t*, double*>("LGBM_BoosterPredictForMat");
  const auto answers = std::make_shared<std::vector<double>>();
  const auto run = [=](const float* rows, std::int64_t n) {
    answers->resize(std::max(answers->size(), static_cast<std::size_t>(n)));
    std::int64_t size = 0;
    if (n == 1) {
      predict_row(fast, rows, &size, answers->data());
    } else {
      predict(booster, rows, kFloat32, static_cast<std::int32_t>(n), width, kRowMajor, kRawScore, 0,
              kAllTrees, kOneThread, &size, answers->data());
    }
  };
  return {"lightgbm", run, [answers](std::size_t row) { return (*answers)[row]; }};
}

TreePeer onnxruntime(const path& file, const path& model, std::size_t columns) {
  struct State {
    State(const path& file, const path& model) : session(file, model, {}, {"x", "y"}) {}
    OnnxRuntime session;
    std::vector<float> answers;
  };
  const auto state = std::make_shared<State>(file, model);
  const auto bind = [state](std::size_t i, const float* data, std::int64_t n, std::int64_t width) {
    TensorView tensor;
    tensor.data = const_cast<float*>(data);
    tensor.rank = 2;
    tensor.size_of_dim = {n, width};
    tensor.stride_of_dim = {width, 1};
    state->session.bind(i, tensor);
  };
  const auto run = [=](const float* rows, std::int64_t n) {
    if (state->answers.size() != static_cast<std::size_t>(n)) {
      state->answers.resize(static_cast<std::size_t>(n));
      bind(1, state->answers.data(), n, 1);
    }
    bind(0, rows, n, static_cast<std::int64_t>(columns));
    state->session.run();
  };
  return {"onnxruntime", run, [state](std::size_t row) { return state->answers[row]; }};
}

/// FastForest or RBDT, which have no direction for missing values: where there are any, the answers are other ones.
TreePeer without_directions(const std::string& name, void* forest, std::size_t columns, void* run) {
  const auto evaluate =
      reinterpret_cast<void (*)(const void*, const float*, std::int64_t, std::size_t, float*)>(run);
  const auto answers = std::make_shared<std::vector<float>>();
  const auto call = [=](const float* rows, std::int64_t n) {
    answers->resize(std::max(answers->size(), static_cast<std::size_t>(n)));
    evaluate(forest, rows, n, columns, answers->data());
  };
  return {name, call, [answers](std::size_t row) { return (*answers)[row]; }};
}

TreePeer fastforest(const path& file, const path& model, std::size_t columns) {
  const auto load =
      reinterpret_cast<void* (*)(const char*, std::size_t)>(symbol(file, "fastforest_load"));
  return without_directions("fastforest", load(model.c_str(), columns), columns,
                            symbol(file, "fastforest_run"));
}

/// @param base where the sums start, which the text of the trees lacks
TreePeer rbdt(const path& file, const path& model, std::size_t columns, double base) {
  const auto load =
      reinterpret_cast<void* (*)(const char*, std::size_t, float)>(symbol(file, "rbdt_load"));
  return without_directions("rbdt", load(model.c_str(), columns, static_cast<float>(base)), columns,
                            symbol(file, "rbdt_run"));
}

/// A function for one row, whose missing values have all bits set: also NaN for the others.
TreePeer tl2cgen(const path& /*library*/, const path& code, std::size_t columns) {
  const auto predict =
      reinterpret_cast<void (*)(const float*, int, float*)>(symbol(code, "predict"));
  constexpr int kMargins = 1;
  const auto answers = std::make_shared<std::vector<float>>();
  const auto run = [=](const float* rows, std::int64_t n) {
    answers->resize(std::max(answers->size(), static_cast<std::size_t>(n)));
    for (std::int64_t row = 0; row < n; ++row, rows += columns)
      predict(rows, kMargins, answers->data() + row);
  };
  return {"tl2cgen", run, [answers](std::size_t row) { return (*answers)[row]; }};
}

TreePeer lleaves(const path& code, std::size_t columns, std::span<const float> matrix) {
  const auto predict =
      reinterpret_cast<void (*)(const double*, double*, int, int)>(symbol(code, "forest_root"));
  const auto doubles = std::make_shared<std::vector<double>>(matrix.begin(), matrix.end());
  const auto answers = std::make_shared<std::vector<double>>(matrix.size() / columns);
  const auto run = [=, first = matrix.data()](const float* rows, std::int64_t n) {
    predict(doubles->data() + (rows - first), answers->data(), 0, static_cast<int>(n));
  };
  return {"lleaves", run, [answers](std::size_t row) { return (*answers)[row]; }};
}

}  // namespace

GpuTreePeer xgboost_on_gpu(const path& file, const path& model, std::size_t columns,
                           Device device) {
  const CLibrary library(file, "XGBGetLastError");
  const auto answers = std::make_shared<const float*>(nullptr);
  return {
      xgboost_call(xgboost_function(library, "XGBoosterPredictFromCudaArray"),
                   xgboost_booster(library, model, "device", to_string(device)), columns, answers),
      [answers] { return *answers; }};
}

std::vector<TreePeer> tree_peers(const TreeLibraries& libraries, const path& model,
                                 const forest::Ensemble& ensemble, std::span<const float> matrix) {
  const auto with_extension = [&model](const char* extension) {
    return path(model).replace_extension(extension);
  };
  using Make = TreePeer (*)(const path&, const path&, std::size_t);
  const std::array<std::tuple<path, const char*, Make>, 5> kinds{
      {{libraries.xgboost, ".json", xgboost},
       {libraries.lightgbm, ".txt", lightgbm},
       {libraries.onnxruntime, ".onnx", onnxruntime},
       {libraries.fastforest, ".dump", fastforest},
       {with_extension(".tl2cgen.so"), ".tl2cgen.so", tl2cgen}}};
  std::vector<TreePeer> peers = plain_traversal(ensemble);
  for (const auto& [library, extension, make] : kinds) {
    const path file = with_extension(extension);
    if (!library.empty() && exists(file)) peers.push_back(make(library, file, ensemble.columns));
  }
  const path text = with_extension(".rbdt");
  if (!libraries.rbdt.empty() && exists(text)) {
    peers.push_back(rbdt(libraries.rbdt, text, ensemble.columns, ensemble.base[0]));
  }
  const path code = with_extension(".lleaves.so");
  if (exists(code)) peers.push_back(lleaves(code, ensemble.columns, matrix));
  return peers;
}

}  // namespace tensoa::peers
