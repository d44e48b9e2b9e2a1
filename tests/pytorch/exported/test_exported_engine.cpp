// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "package/zip_writer.hpp"
#include "pytorch/jit_fixture.hpp"
#include "tensoa/package/archive.hpp"
#include "tensoa/package/inspect.hpp"

namespace tensoa::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

template <template <class> class F>
struct Inputs {
  F<float> a, b, c, d, e, f;
  F<std::int64_t> i, j;
};

template <template <class> class F>
struct Results {
  F<float> a, b, c, d, e, f, g, h;
  F<std::int64_t> i, j;
};

/// A tensor of a model: columns "abc" of a layout, one after another.
struct Block {
  std::string name;
  std::string columns;
  bool is_real() const { return columns[0] != 'i' && columns[0] != 'j'; }
};

/// A module of make_exported.py.
struct Case {
  std::string name;
  std::vector<Block> inputs;
  std::vector<Block> outputs;
  double gpu_tolerance = 1e-5;
};

const std::vector<Case> kCases{
    {"mlp", {{"x", "abc"}}, {{"out", "ab"}}},
    {"scores", {{"x", "abc"}}, {{"out", "a"}}},
    {"classes", {{"x", "abc"}}, {{"out", "ab"}}},
    {"two_in_two_out", {{"b", "de"}, {"a", "abc"}}, {{"sum", "c"}, {"product", "ab"}}},
    {"interaction_network", {{"x", "abc"}, {"source", "i"}, {"target", "j"}}, {{"out", "ab"}}},
    {"attention", {{"x", "abcdef"}}, {{"out", "abcdef"}}},
    {"convolution_and_batch_norm", {{"x", "abcdef"}}, {{"out", "abcd"}}},
    {"recurrent", {{"x", "abcdef"}}, {{"out", "abcd"}}, 1e-3},  // TF32 in cuDNN
    {"integers_and_masks", {{"x", "abc"}, {"index", "i"}}, {{"out", "abc"}, {"odd", "i"}}},
    {"top_and_sorted", {{"x", "abcdef"}}, {{"v", "ab"}, {"p", "ij"}, {"s", "cdefgh"}}},
    {"sizes_and_constants", {{"x", "abc"}}, {{"sum", "abc"}, {"rank", "d"}}},
    {"read_twice", {{"x", "abc"}}, {{"out", "abcdef"}}},
    {"truth_values", {{"x", "abc"}}, {{"out", "abc"}}},
    {"named_pair", {{"x", "abc"}}, {{"plus_one", "abc"}, {"twice", "def"}}},
    {"other_names", {{"x", "abc"}}, {{"out", "abc"}}},
    {"returned", {{"x", "abc"}}, {{"all", "abc"}, {"last", "de"}}},
};

constexpr std::size_t kRows[] = {1, 16, 1000};

template <template <template <class> class> class Layout, class Metadata, class View>
void append(Metadata& metadata, const Block& block, const View& view) {
  const auto r = view.records();
  const std::string& columns = block.columns;
  const char* name = block.name.c_str();
  if (columns == "a") return metadata.append_block(name, r.a());
  if (columns == "c") return metadata.append_block(name, r.c());
  if (columns == "d") return metadata.append_block(name, r.d());
  if (columns == "i") return metadata.append_block(name, r.i());
  if (columns == "j") return metadata.append_block(name, r.j());
  if (columns == "ij") return metadata.append_block(name, r.i(), r.j());
  if (columns == "ab") return metadata.append_block(name, r.a(), r.b());
  if (columns == "de") return metadata.append_block(name, r.d(), r.e());
  if (columns == "abc") return metadata.append_block(name, r.a(), r.b(), r.c());
  if (columns == "def") return metadata.append_block(name, r.d(), r.e(), r.f());
  if (columns == "abcd") return metadata.append_block(name, r.a(), r.b(), r.c(), r.d());
  if (columns == "abcdef") {
    return metadata.append_block(name, r.a(), r.b(), r.c(), r.d(), r.e(), r.f());
  }
  if constexpr (requires { r.h(); }) {
    if (columns == "gh") return metadata.append_block(name, r.g(), r.h());
    if (columns == "cdefgh") {
      return metadata.append_block(name, r.c(), r.d(), r.e(), r.f(), r.g(), r.h());
    }
  }
  FAIL() << "no block of " << columns;
}

/// Memory of a column; that of a const view is only read.
template <class View>
void* column(const View& view, char name) {
  const auto memory = [&]() -> const void* {
    switch (name) {
      case 'a':
        return view.a.data();
      case 'b':
        return view.b.data();
      case 'c':
        return view.c.data();
      case 'd':
        return view.d.data();
      case 'e':
        return view.e.data();
      case 'f':
        return view.f.data();
      case 'i':
        return view.i.data();
      case 'j':
        return view.j.data();
      default:
        if constexpr (requires { view.h; }) return name == 'g' ? view.g.data() : view.h.data();
        return nullptr;
    }
  };
  return const_cast<void*>(memory());
}

std::string exported_file(const std::string& name, const std::string& ending = ".pt2") {
  return TENSOA_TEST_EXPORTED + name + ending;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

/// An archive with the checksums of what it holds now; one that is not an archive any more stays as it is.
std::string saved_again(const std::string& changed) {
  try {
    const package::Archive archive(changed);
    ZipWriter zip;
    for (const auto& file : archive.files()) zip.add("model/" + file.name, file.bytes);
    return zip.finish();
  } catch (const std::runtime_error&) {
    return changed;
  }
}

struct RemovedAtEnd {
  std::filesystem::path path;
  ~RemovedAtEnd() { std::filesystem::remove(path); }
};

class ExportedEngine : public JitTest {
 protected:
  /// The inputs that make_exported.py has written.
  PortableCollection<Inputs> inputs_of(const Case& one, std::size_t rows) {
    return upload<Inputs>(rows, [&](const auto& view) {
      for (std::size_t i = 0; i < one.inputs.size(); ++i) {
        const std::size_t place = place_of_input(one, i);
        const std::string bytes = bytes_of(
            exported_file(one.name, '.' + std::to_string(rows) + ".in" + std::to_string(place)));
        spread(bytes, one.inputs[i], rows, view);
      }
    });
  }

  /// Blocks are named as arguments, in any order; the files are in that of the arguments.
  static std::size_t place_of_input(const Case& one, std::size_t i) {
    return one.name == "two_in_two_out" ? 1 - i : i;
  }
  static std::size_t place_of_output(const Case& one, std::size_t i) {
    return one.name == "two_in_two_out" || one.name == "named_pair" ? 1 - i : i;
  }

  template <class View>
  static void spread(const std::string& bytes, const Block& block, std::size_t rows,
                     const View& view) {
    const std::size_t element = block.is_real() ? sizeof(float) : sizeof(std::int64_t);
    ASSERT_EQ(bytes.size(), block.columns.size() * rows * element);
    for (std::size_t k = 0; k < block.columns.size(); ++k) {
      std::memcpy(column(view, block.columns[k]), bytes.data() + k * rows * element,
                  rows * element);
    }
  }

  template <CompilationType kCompilation = CompilationType::kJustInTime>
  CopyReport run_case(const std::string& file, const Case& one, ConstView<Inputs> in,
                      View<Results> out) {
    SoAMetadata<Inputs> inputs(in.size());
    for (const Block& block : one.inputs) append<Inputs>(inputs, block, in);
    SoAMetadata<Results> outputs(out.size());
    for (const Block& block : one.outputs) append<Results>(outputs, block, out);
    Model<kCompilation> model(file);
    model.to(*queue_);
    const CopyReport report = model.forward(ModelMetadata(inputs, outputs));
    queue_->wait();
    return report;
  }

  PortableCollection<Results> results(std::size_t rows) {
    return upload<Results>(rows, [](const auto& view) {
      for (const char name : std::string("abcdefgh")) {
        std::fill_n(static_cast<float*>(column(view, name)), view.size(), kUntouched);
      }
      for (const char name : std::string("ij")) {
        std::fill_n(static_cast<std::int64_t*>(column(view, name)), view.size(), -77);
      }
    });
  }

  static std::string all_bytes(const PortableCollection<Inputs>& host) {
    std::string bytes;
    for (const char name : std::string("abcdefij")) {
      const std::size_t element = name < 'i' ? sizeof(float) : sizeof(std::int64_t);
      bytes.append(static_cast<const char*>(column(host.const_view(), name)),
                   host.size() * element);
    }
    return bytes;
  }

  void expect_results(const Case& one, std::size_t rows, const PortableCollection<Results>& there) {
    const double tolerance = queue_->device().is_cpu() ? 1e-5 : one.gpu_tolerance;
    const auto host = download(there);
    for (std::size_t i = 0; i < one.outputs.size(); ++i) {
      const Block& block = one.outputs[i];
      const std::string expected = bytes_of(exported_file(
          one.name, '.' + std::to_string(rows) + ".out" + std::to_string(place_of_output(one, i))));
      for (std::size_t k = 0; k < block.columns.size(); ++k) {
        const void* const got = column(host.const_view(), block.columns[k]);
        for (std::size_t row = 0; row < rows; ++row) {
          if (block.is_real()) {
            const float wanted = reinterpret_cast<const float*>(expected.data())[k * rows + row];
            const float given = static_cast<const float*>(got)[row];
            ASSERT_TRUE(given == wanted ||
                        std::abs(given - wanted) <= tolerance * (1 + std::abs(wanted)))
                << one.name << ", " << block.name << ' ' << k << ", row " << row << ": " << given
                << ", expected " << wanted;
          } else {
            ASSERT_EQ(static_cast<const std::int64_t*>(got)[row],
                      reinterpret_cast<const std::int64_t*>(expected.data())[k * rows + row]);
          }
        }
      }
    }
  }

  /// Loads a model of these bytes.
  void load(const std::string& bytes) const {
    // Not in a TemporaryFolder: the filesystem::remove_all that libtorch exports ends the process.
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("tensoa-exported-" + std::to_string(getpid()));
    const RemovedAtEnd removed{path};
    std::ofstream(path, std::ios::binary) << bytes;
    JitModel model(path);
    model.to(*queue_);
  }

  /// The error of loading a model for the device.
  auto loading(const std::string& name) {
    return [this, name] {
      JitModel model(exported_file(name));
      model.to(*queue_);
    };
  }
};

TENSOA_ON_EACH_DEVICE(ExportedEngine);

TEST_P(ExportedEngine, GivesWhatTheModuleGivesAndLeavesTheInputsAsTheyWere) {
  for (const Case& one : kCases) {
    for (const std::size_t rows : kRows) {
      SCOPED_TRACE(one.name + " of " + std::to_string(rows) + " rows");
      const auto inputs = inputs_of(one, rows);
      const std::string before = all_bytes(download(inputs));
      auto outputs = results(rows);
      const CopyReport report =
          run_case(exported_file(one.name), one, inputs.const_view(), outputs.view());
      expect_results(one, rows, outputs);
      EXPECT_EQ(all_bytes(download(inputs)), before);
      EXPECT_EQ(report.bytes_in, 0U);
    }
  }
}

TEST_P(ExportedEngine, OperatorsThatReadRowMajorTensorsAloneGiveTheSameOnColumns) {
  const std::vector<Block> words{{"x", "abcdef"}, {"words", "ij"}};
  const std::vector<Block> both{{"normed", "abcdef"}, {"squared", "gh"}};
  for (const Case& one : {Case{"row_major", words, both}, Case{"row_major_decomposed", words, both},
                          Case{"custom_of_rows", {{"x", "abcdef"}}, {{"out", "a"}}}}) {
    for (const std::size_t rows : kRows) {
      SCOPED_TRACE(one.name + " of " + std::to_string(rows) + " rows");
      auto outputs = results(rows);
      run_case(exported_file(one.name), one, inputs_of(one, rows).const_view(), outputs.view());
      expect_results(one, rows, outputs);
    }
  }
}

TEST_P(ExportedEngine, WritesToAViewReachWhatItIsAViewOf) {
  const Case one{"written_views", {{"x", "abcdef"}}, {{"doubled", "abcdef"}, {"sums", "gh"}}};
  for (const std::size_t rows : kRows) {
    auto outputs = results(rows);
    run_case(exported_file(one.name), one, inputs_of(one, rows).const_view(), outputs.view());
    expect_results(one, rows, outputs);
  }
}

TEST_P(ExportedEngine, ReadsWhatTorch211DoesNotSave) {
  for (const std::string name : {"newer_dtypes", "lists_of_lists"}) {
    if (!std::filesystem::exists(exported_file(name)))
      GTEST_SKIP() << "this torch saves no such program";
    const Case one{name, {{"x", "abc"}}, {{"out", "abc"}}};
    const auto inputs = inputs_of(one, 16);
    auto outputs = results(16);
    run_case(exported_file(name), one, inputs.const_view(), outputs.view());
    expect_results(one, 16, outputs);
  }
}

TEST_P(ExportedEngine, GivesWhatTorchScriptGives) {
  for (const Case& one : kCases) {
    if (one.name == "interaction_network" || one.name == "integers_and_masks") continue;  // [n, 1]
    // TorchScript's constants stay on the device on which they were traced.
    const bool has_constants = one.name == "sizes_and_constants" || one.name == "truth_values";
    if (has_constants && !queue_->device().is_cpu()) continue;
    SCOPED_TRACE(one.name);
    const auto inputs = inputs_of(one, 16);
    auto outputs = results(16);
    run_case(exported_file(one.name, ".pt"), one, inputs.const_view(), outputs.view());
    expect_results(one, 16, outputs);
  }
}

TEST_P(ExportedEngine, OfNoRowsGivesNothing) {
  for (const Case& one : kCases) {
    auto outputs = results(0);
    const auto inputs = upload<Inputs>(0, [](const auto&) {});
    EXPECT_EQ(run_case(exported_file(one.name), one, inputs.const_view(), outputs.view()),
              CopyReport());
  }
}

TEST_P(ExportedEngine, WritesResultsOfTheLastOperatorsIntoTheColumns) {
  for (const Case& one : kCases) {
    const bool is_direct = one.name == "mlp" || one.name == "scores" ||
                           one.name == "two_in_two_out" || one.name == "named_pair" ||
                           one.name == "interaction_network";
    if (!is_direct) continue;
    SCOPED_TRACE(one.name);
    const auto inputs = inputs_of(one, 16);
    auto outputs = results(16);
    EXPECT_EQ(run_case(exported_file(one.name), one, inputs.const_view(), outputs.view()),
              CopyReport());
  }
}

TEST_P(ExportedEngine, ReportsResultsThatItCopies) {
  const Case& one = kCases.back();
  ASSERT_EQ(one.name, "returned");
  const auto inputs = inputs_of(one, 16);
  auto outputs = results(16);
  const CopyReport report =
      run_case(exported_file(one.name), one, inputs.const_view(), outputs.view());
  EXPECT_EQ(report.bytes_out, (3 + 2) * 16 * sizeof(float));
  EXPECT_TRUE(report.has(CopyReason::kOwnOutput));
}

TEST_P(ExportedEngine, GivesTheSameInTheColumnsThatItReads) {
  const Case one{"named_pair", {{"x", "abc"}}, {{"plus_one", "abc"}, {"twice", "def"}}};
  auto there = upload<Results>(16, [](const auto& view) {
    for (const char name : std::string("abc")) {
      for (std::size_t row = 0; row < view.size(); ++row) {
        static_cast<float*>(column(view, name))[row] = static_cast<float>(row);
      }
    }
  });
  SoAMetadata<Results> inputs(16);
  append<Results>(inputs, one.inputs[0], there.const_view());
  SoAMetadata<Results> outputs(16);
  for (const Block& block : one.outputs) append<Results>(outputs, block, there.view());
  JitModel model(exported_file("named_pair"));
  model.to(*queue_);
  const CopyReport report = model.forward(ModelMetadata(inputs, outputs));
  queue_->wait();
  EXPECT_TRUE(report.has(CopyReason::kOwnOutput)) << to_string(report);
  const auto host = download(there);
  for (std::size_t row = 0; row < 16; ++row) {
    ASSERT_EQ(host.const_view().b[row], static_cast<float>(row) + 1);
    ASSERT_EQ(host.const_view().e[row], static_cast<float>(row) * 2);
  }
}

TEST_P(ExportedEngine, RunsManyEventsOfOnePlan) {
  const Case& one = kCases[0];
  JitModel model(exported_file(one.name));
  model.to(*queue_);
  for (const std::size_t rows : {16U, 1000U, 1U, 1000U, 16U}) {
    const auto inputs = inputs_of(one, rows);
    auto outputs = results(rows);
    SoAMetadata<Inputs> in(rows);
    append<Inputs>(in, one.inputs[0], inputs.const_view());
    SoAMetadata<Results> out(rows);
    append<Results>(out, one.outputs[0], outputs.view());
    model.forward(ModelMetadata(in, out));
    queue_->wait();
    expect_results(one, rows, outputs);
  }
}

TEST_P(ExportedEngine, AReloadGivesPlansTheWeightsOfTheOtherFile) {
  const Case& one = kCases[0];
  Case other = one;
  other.name = "mlp_of_other_weights";
  for (const std::string ending : {".pt2", ".pt"}) {
    const Model<> model(exported_file(one.name, ending));
    const auto inputs = inputs_of(one, 16);
    auto outputs = results(16);
    SoAMetadata<Inputs> in(16);
    append<Inputs>(in, one.inputs[0], inputs.const_view());
    SoAMetadata<Results> out(16);
    append<Results>(out, one.outputs[0], outputs.view());
    const auto plan = model.plan(ModelMetadata(in, out));
    model.reload(exported_file(other.name, ending));
    model.forward(*queue_, plan);
    queue_->wait();
    expect_results(other, 16, outputs);
  }
  JitModel model(exported_file(one.name));
  model.to(*queue_);
  EXPECT_THAT([&] { model.reload(exported_file("named_pair")); },
              ThrowsMessage<LoadError>(HasSubstr("it has 2 outputs, expected 1")));
  EXPECT_THAT([&] { model.reload(exported_file(one.name, ".pt")); },
              ThrowsMessage<LoadError>(HasSubstr("is loaded by the engine TorchScript")));
}

TEST_P(ExportedEngine, SaysWhatItTakesAndGives) {
  const auto model = package::inspect(exported_file("two_in_two_out"));
  ASSERT_EQ(model.inputs.size(), 2U);
  EXPECT_EQ(model.inputs[0].name, "a");
  EXPECT_EQ(model.inputs[0].type, "float32[?, 3]");
  EXPECT_EQ(model.inputs[1].type, "float32[?, 2]");
  EXPECT_EQ(model.outputs[0].name, "product");
  EXPECT_EQ(model.outputs[1].name, "sum");
  EXPECT_EQ(model.outputs[1].type, "float32[?]");
  EXPECT_THAT(model.format, HasSubstr("torch.export 8."));
  EXPECT_THAT(model.operators, testing::Contains(testing::Pair("aten.mul.Tensor", 1U)));
}

// ---- bad input

TEST_P(ExportedEngine, ProgramsThatChangeSomethingAreRefusedWithTheNodeAndTheBuffer) {
  const auto says = [](const auto&... what) {
    return ThrowsMessage<LoadError>(AllOf(HasSubstr("model "), HasSubstr(what)..., is_short()));
  };
  EXPECT_THAT(loading("writes_input"), says("node mul_ (aten.mul_.Tensor)", "input x", "clone()"));
  EXPECT_THAT(loading("writes_buffer"), says("node add_ (aten.add_.Tensor)", "calls"));
  EXPECT_THAT(loading("writes_buffer_functional"), says("the buffer calls", "module.eval()"));
  EXPECT_THAT(loading("writes_input_functional"), says("its input x", "x.clone()"));
  EXPECT_THAT(loading("batch_norm_in_training"), says("norm.num_batches_tracked", "module.eval()"));
}

TEST_P(ExportedEngine, OperatorsThatItDoesNotRunAreRefusedByName) {
  const auto says = [](const auto&... what) {
    return ThrowsMessage<LoadError>(AllOf(HasSubstr(what)..., is_short()));
  };
  EXPECT_THAT(loading("branches"), says("(higher_order.cond)", "torch.where"));
  EXPECT_THAT(loading("custom"), says("(tensoa_test.twice.default)", "load the library"));
  EXPECT_THAT(loading("takes_a_number"), says("its input factor is a number"));
  EXPECT_THAT(loading("gives_a_number"), says("not a tensor (sym_int)"));
}

TEST_P(ExportedEngine, AFixedNumberOfRowsIsNamedWithTheWayToExportAnyNumber) {
  const Case one{"fixed", {{"x", "abc"}}, {{"out", "abc"}}};
  const auto seven = upload<Inputs>(7, [](const auto&) {});
  auto outputs_of_seven = results(7);
  run_case(exported_file("fixed"), one, seven.const_view(), outputs_of_seven.view());
  const auto inputs = upload<Inputs>(16, [](const auto&) {});
  auto outputs = results(16);
  EXPECT_THAT(
      [&] { run_case(exported_file("fixed"), one, inputs.const_view(), outputs.view()); },
      ThrowsMessage<BindingError>(AllOf(HasSubstr("takes x with the size 7 in dimension 0"),
                                        HasSubstr("dynamic_shapes={\"x\": {0: torch.export.Dim"),
                                        HasSubstr("--just-in-time"))));
}

TEST_P(ExportedEngine, BlocksThatDoNotFitAreRefusedBeforeAnythingIsWritten) {
  const auto inputs = upload<Inputs>(16, [](const auto&) {});
  auto outputs = results(16);
  const auto run_blocks = [&](const Case& one) {
    return
        [&, one] { run_case(exported_file(one.name), one, inputs.const_view(), outputs.view()); };
  };
  EXPECT_THAT(run_blocks({"mlp", {{"x", "ab"}}, {{"out", "ab"}}}),
              ThrowsMessage<BindingError>(HasSubstr("x with the size 3 in dimension 1")));
  EXPECT_THAT(run_blocks({"mlp", {{"x", "ij"}}, {{"out", "ab"}}}),
              ThrowsMessage<BindingError>(HasSubstr("takes x as float32[?, 3], got")));
  EXPECT_THAT(run_blocks({"mlp", {{"x", "abc"}}, {{"out", "abc"}}}),
              ThrowsMessage<BindingError>(HasSubstr("gives float32[16, 2]")));
  EXPECT_THAT(run_blocks({"two_in_two_out", {{"a", "abc"}, {"b", "de"}}, {{"sum", "c"}}}),
              ThrowsMessage<BindingError>(HasSubstr("gives 2 outputs, got 1")));
  const auto host = download(outputs);
  for (const char name : std::string("abcdefgh")) {
    EXPECT_EQ(static_cast<const float*>(column(host.const_view(), name))[3], kUntouched);
  }
}

TEST_P(ExportedEngine, AFailureInTheGraphNamesTheNodeAndTheInputs) {
  const Case& one = kCases[4];
  ASSERT_EQ(one.name, "interaction_network");
  if (!GetParam().is_cpu()) GTEST_SKIP() << "an index out of range ends the process on a GPU";
  const auto inputs = upload<Inputs>(16, [](const auto& view) {
    for (std::size_t row = 0; row < view.size(); ++row) view.i[row] = view.j[row] = 1 << 20;
  });
  auto outputs = results(16);
  EXPECT_THAT(
      [&] { run_case(exported_file(one.name), one, inputs.const_view(), outputs.view()); },
      ThrowsMessage<EngineError>(AllOf(HasSubstr("node index (aten.index.Tensor) failed while"),
                                       HasSubstr("; inputs: block \"x\""))));
}

TEST_P(ExportedEngine, FormatsThatAreNewerAreNamedWithTheTorchToSaveWith) {
  const std::string whole = bytes_of(exported_file("mlp"));
  /// @param after the end of what stands before the one character that is replaced
  const auto says = [&](const std::string& after, char replacement, const std::string& what) {
    std::string changed = whole;
    const std::size_t place = changed.find(after);
    ASSERT_NE(place, std::string::npos) << after;
    changed[place + after.size()] = replacement;
    EXPECT_THAT([&] { load(saved_again(changed)); },
                ThrowsMessage<LoadError>(
                    AllOf(HasSubstr(what), HasSubstr("torch 2.11 to 2.15"), is_short())));
  };
  says("\"schema_version\": {\"major\": ", '9', "has version 9.");
  says("{\"dtype\": ", '0', "the dtype number 0 ");
  // The bytes of a file follow its name, and what pads them.
  const std::size_t name = whole.find("archive_version");
  ASSERT_NE(name, std::string::npos);
  const std::size_t version = whole.find("0PK", name);
  ASSERT_NE(version, std::string::npos);
  says(whole.substr(name, version - name), '1', "its archive has version 1 ");
}

TEST_P(ExportedEngine, FilesThatAreDamagedAreErrors) {
  const std::string whole = bytes_of(exported_file("mlp"));
  const auto damage = [&](const std::string& bytes) {
    try {
      load(bytes);
    } catch (const Error&) {
      return true;
    }
    return false;
  };
  // Cut off, with the directory at the end of the file gone.
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += whole.size() / 41) {
    EXPECT_TRUE(damage(whole.substr(0, bytes)));
  }
  const std::size_t json = whole.find("{\"graph_module\"");
  const std::size_t json_end = whole.find("PK", json);
  const std::size_t config = whole.find("{\"config\"");
  ASSERT_NE(json, std::string::npos);
  ASSERT_NE(config, std::string::npos);
  // Bytes of the JSON changed: an error or another program, never the end of the process.
  std::uint32_t random = 1;
  const auto draw = [&](std::size_t below) {
    random = random * 1664525 + 1013904223;
    return (random >> 8U) % below;
  };
  const std::string replacements = "0123456789-[]{}\",:.abcnstTN\x01\xff ";
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    std::string changed = whole;
    const bool is_program = i % 4 != 0;
    const std::size_t first = is_program ? json : config;
    const std::size_t size = is_program ? json_end - json : 900;
    for (std::size_t changes = 1 + draw(3); changes > 0; --changes) {
      changed[first + draw(size)] = replacements[draw(replacements.size())];
    }
    refused += damage(saved_again(changed)) ? 1 : 0;
  }
  EXPECT_GT(refused, 100);
  // Weights that need more bytes than there are.
  std::string larger = whole;
  const std::size_t sizes = larger.find("{\"as_int\": 64}", config);
  ASSERT_NE(sizes, std::string::npos);
  larger.replace(sizes, 14, "{\"as_int\": 99}");
  EXPECT_THAT([&] { load(saved_again(larger)); },
              ThrowsMessage<LoadError>(
                  AllOf(HasSubstr("its tensor layers.0."), HasSubstr("cut off or damaged"))));
  // One bit of a weight.
  std::string flipped = whole;
  const std::string_view weight = package::Archive(whole).file("data/weights/weight_0");
  flipped[static_cast<std::size_t>(weight.data() - whole.data()) + 3] ^= 1;
  EXPECT_THAT([&] { load(flipped); },
              ThrowsMessage<LoadError>(
                  AllOf(HasSubstr("its file data/weights/weight_0 is damaged"), is_short())));
}

}  // namespace
}  // namespace tensoa::test
