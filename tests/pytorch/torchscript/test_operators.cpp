// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
//
// Whether torch's operators do to their arguments what pytorch/src/runtime/operator_effects.cpp assumes of them: all that
// this torch has are called, as often as TENSOA_OPERATOR_CALLS says, with small arguments at random.

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "torchscript/mutation_analysis.hpp"

namespace tensoa::pytorch {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Operator;

// ---- what is believed

/// A graph that calls one operator with arguments of forward.
struct OneCall {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Node* node = nullptr;
};

std::optional<OneCall> graph_of(const Operator& an_operator) {
  OneCall call;
  call.graph->addInput("self")->setType(c10::NoneType::get());
  const c10::FunctionSchema& schema = an_operator.schema();
  call.node =
      call.graph->create(c10::Symbol::fromQualString(schema.name()), schema.returns().size());
  for (const c10::Argument& argument : schema.arguments()) {
    call.node->addInput(call.graph->addInput()->setType(argument.type()));
  }
  for (std::size_t i = 0; i < schema.returns().size(); ++i) {
    call.node->output(i)->setType(schema.returns()[i].type());
  }
  call.graph->insertNode(call.node);
  if (call.node->maybeOperator() != &an_operator) return {};  // another overload looks the same
  return call;
}

std::vector<bool> believed_writes(const Operator& an_operator) {
  return MutationAnalysis(*graph_of(an_operator)->graph).to_arguments();
}

/// The arguments in which results may lie: those that are written where all results are.
std::vector<bool> believed_shares(const Operator& an_operator) {
  const OneCall call = *graph_of(an_operator);
  for (torch::jit::Value* output : call.node->outputs()) {
    if (output->type()->isSubtypeOf(*c10::TensorType::get())) {
      call.graph->insert(c10::aten::zero_, {output});
    } else if (output->type()->isSubtypeOf(*c10::ListType::ofTensors())) {
      call.graph->insertNode(
          call.graph->create(c10::Symbol::fromQualString("aten::_foreach_zero_"), {output}, 0));
    }
  }
  return MutationAnalysis(*call.graph).to_arguments();
}

// ---- what is so

class Arguments {
 public:
  explicit Arguments(unsigned seed) : random_(seed) {}

  /// Nothing where no value of a type can be made up.
  std::optional<std::vector<c10::IValue>> of(const c10::FunctionSchema& schema) {
    shape_ = pick<std::vector<int64_t>>(
        {{4}, {4, 4}, {2, 4, 4}, {2, 4, 4, 4}, {2, 4, 2, 4, 4}, {1}, {}});
    dtype_ = pick<c10::ScalarType>({at::kFloat, at::kFloat, at::kFloat, at::kLong, at::kBool});
    is_uniform_ = chance(0.6);
    std::vector<c10::IValue> values;
    for (const c10::Argument& argument : schema.arguments()) {
      if (argument.default_value() && chance(0.5)) {
        values.push_back(*argument.default_value());
        continue;
      }
      std::optional<c10::IValue> value = of(*argument.type(), argument.name());
      if (!value) return {};
      values.push_back(std::move(*value));
    }
    return values;
  }

 private:
  template <class T>
  T pick(std::initializer_list<T> values) {
    return *(values.begin() + random_() % values.size());
  }
  bool chance(double share) { return static_cast<double>(random_()) < share * 4294967295.0; }

  at::Tensor tensor(std::string_view name) {
    const auto is = [name](std::string_view part) { return name.find(part) != name.npos; };
    std::vector<int64_t> shape = shape_;
    c10::ScalarType dtype = dtype_;
    if (is_uniform_ ? false : chance(0.5)) {
      shape = pick<std::vector<int64_t>>({{4}, {4, 4}, {2, 4, 4}, {4, 4, 2, 2}, {1}, {}});
      dtype = pick<c10::ScalarType>({at::kFloat, at::kFloat, at::kLong, at::kBool});
    }
    if (is("mean") || is("var") || is("invstd") || is("bias") || is("scale") || is("zero_point") ||
        is("running")) {
      shape = {4};
      dtype = at::kFloat;
    } else if (is("weight") && chance(0.5)) {
      shape = {4};
    } else if (is("ind") || is("offsets")) {
      dtype = at::kLong;
    }
    at::Tensor numbers = at::randint(0, 3, shape, at::kLong);
    return dtype == at::kFloat ? at::rand(shape) : numbers.to(dtype);
  }

  std::optional<c10::IValue> of(const c10::Type& type, const std::string& name) {
    switch (type.kind()) {
      case c10::TypeKind::TensorType:
        return tensor(name);
      case c10::TypeKind::OptionalType:
        if (chance(0.4)) return c10::IValue();
        return of(*type.containedType(0), name);
      case c10::TypeKind::IntType:
      case c10::TypeKind::SymIntType:
        return pick<int64_t>({0, 1, 2, 3, 4, -1});
      case c10::TypeKind::FloatType:
        return pick<double>({0.0, 0.1, 0.5, 1.0});
      case c10::TypeKind::BoolType:
        return chance(0.5);
      case c10::TypeKind::NumberType:
        return pick<double>({0.0, 0.5, 1.0, 2.0});
      case c10::TypeKind::StringType:
        return pick<std::string>({"mean", "sum", "none", "ij->ji", "floor", "amax"});
      case c10::TypeKind::DeviceObjType:
        return c10::IValue(at::Device(at::kCPU));
      case c10::TypeKind::ListType:
        break;
      default:
        return {};
    }
    const c10::TypeKind inner = type.containedType(0)->kind();
    const std::size_t size = pick<std::size_t>({1, 1, 2, 2, 3});
    if (inner == c10::TypeKind::TensorType) {
      c10::List<at::Tensor> list;
      while (list.size() < size) list.push_back(tensor(name));
      return list;
    }
    if (inner == c10::TypeKind::IntType || inner == c10::TypeKind::SymIntType) {
      c10::List<int64_t> list;
      if (chance(0.3)) {
        for (const int64_t extent : shape_) list.push_back(extent);
      } else {
        while (list.size() < size) list.push_back(pick<int64_t>({0, 1, 2, 1, 4}));
      }
      return list;
    }
    return {};
  }

  std::mt19937 random_;
  std::vector<int64_t> shape_;
  c10::ScalarType dtype_ = at::kFloat;
  bool is_uniform_ = true;
};

/// The tensors of a value, those in lists and those of which a sparse tensor consists.
void collect(const c10::IValue& value, std::vector<at::Tensor>& tensors) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return;
    if (tensor.layout() == at::kSparse) {
      tensors.push_back(tensor._indices());
      tensors.push_back(tensor._values());
    } else if (tensor.layout() == at::kSparseCsr || tensor.layout() == at::kSparseCsc) {
      tensors.push_back(tensor.values());
    } else if (tensor.has_storage()) {
      tensors.push_back(tensor);
    }
  } else if (value.isList()) {
    for (const c10::IValue& member : value.toListRef()) collect(member, tensors);
  } else if (value.isTuple()) {
    for (const c10::IValue& member : value.toTupleRef().elements()) collect(member, tensors);
  }
}

std::string bytes_of(const at::Tensor& tensor) {
  const auto* data = static_cast<const char*>(tensor.storage().data());
  return {data == nullptr ? "" : data, data == nullptr ? 0 : tensor.storage().nbytes()};
}

struct Seen {
  int calls = 0;
  std::set<std::string> written;  ///< names of arguments
  std::set<std::string> shared;
};

/// Calls the operator and adds what it did.
void call(const Operator& an_operator, const std::vector<c10::IValue>& values, Seen& seen) {
  const c10::InferenceMode no_gradients;
  const std::vector<c10::Argument>& arguments = an_operator.schema().arguments();
  std::vector<std::vector<c10::Storage>> storages(values.size());
  std::vector<std::vector<std::string>> before(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::vector<at::Tensor> tensors;
    collect(values[i], tensors);
    for (const at::Tensor& tensor : tensors) {
      storages[i].push_back(tensor.storage());
      before[i].push_back(bytes_of(tensor));
    }
  }
  torch::jit::Stack stack(values.begin(), values.end());
  try {
    an_operator.getOperation()(stack);
    ++seen.calls;
  } catch (const std::exception&) {
    stack.clear();  // it must not have written anything for all that
  }
  std::vector<at::Tensor> results;
  for (const c10::IValue& result : stack) collect(result, results);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t t = 0; t < storages[i].size(); ++t) {
      const void* data = storages[i][t].data();
      const std::string& old = before[i][t];
      if (!old.empty() && std::memcmp(data, old.data(), old.size()) != 0) {
        seen.written.insert(arguments[i].name());
      }
      if (std::ranges::any_of(results, [data](const at::Tensor& result) {
            return data != nullptr && result.numel() > 0 && result.storage().data() == data;
          })) {
        seen.shared.insert(arguments[i].name());
      }
    }
  }
}

/// Calls it with `tries` choices of arguments; those that it refuses do not count.
Seen call(const Operator& an_operator, int tries) {
  Seen seen;
  for (int seed = 0; seed < tries; ++seed) {
    at::manual_seed(static_cast<uint64_t>(seed));
    const auto values = Arguments(static_cast<unsigned>(seed)).of(an_operator.schema());
    if (!values) break;
    call(an_operator, *values, seen);
  }
  return seen;
}

// ---- all operators, in processes of their own: with made-up arguments some crash

bool is_callable(const Operator& an_operator) {
  const std::string& name = an_operator.schema().name();
  constexpr std::string_view kSpaces[] = {"aten::", "mkldnn::", "quantized::", "_quantized::"};
  constexpr std::string_view kNever[] = {"aten::from_file",
                                         "aten::manual_seed",
                                         "aten::save",
                                         "aten::_foobar",
                                         "aten::_test_optional_filled_intlist",
                                         "aten::_test_optional_intlist",
                                         "aten::_test_parallel_materialize",
                                         "aten::seed",
                                         "aten::warn",
                                         "aten::wait"};
  return std::ranges::any_of(kSpaces, [&](auto space) { return name.starts_with(space); }) &&
         std::ranges::find(kNever, name) == std::ranges::end(kNever) &&
         an_operator.aliasAnalysisKind() == c10::AliasAnalysisKind::FROM_SCHEMA &&
         !an_operator.schema().is_vararg();
}

std::string full_name(const Operator& an_operator) {
  const c10::FunctionSchema& schema = an_operator.schema();
  return schema.name() + '.' + schema.overload_name();
}

/// `index calls written… | shared…` for each operator from `first` on.
[[noreturn]] void call_all(const std::vector<std::shared_ptr<Operator>>& operators,
                           std::size_t first, int tries, std::FILE* out) {
  at::set_num_threads(1);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const rlimit memory{rlim_t{1} << 36, rlim_t{1} << 36};
  setrlimit(RLIMIT_AS, &memory);
  for (std::FILE* file : {stdout, stderr}) {
    if (std::freopen("/dev/null", "w", file) == nullptr) std::abort();
  }
  for (std::size_t i = first; i < operators.size(); ++i) {
    alarm(20);
    const Seen seen = call(*operators[i], tries);
    std::string line = std::to_string(i) + ' ' + std::to_string(seen.calls);
    for (const std::string& name : seen.written) line += ' ' + name;
    line += " |";
    for (const std::string& name : seen.shared) line += ' ' + name;
    std::fprintf(out, "%s\n", line.c_str());
    std::fflush(out);
  }
  _exit(0);
}

std::map<std::size_t, Seen> call_all(const std::vector<std::shared_ptr<Operator>>& operators,
                                     int tries) {
  std::map<std::size_t, Seen> all;
  for (std::size_t next = 0; next < operators.size();) {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      call_all(operators, next, tries, fdopen(ends[1], "w"));
    }
    close(ends[1]);
    std::FILE* in = fdopen(ends[0], "r");
    char* text = nullptr;
    std::size_t room = 0;
    while (getline(&text, &room, in) > 0) {
      std::istringstream line(text);
      std::size_t index = 0;
      Seen seen;
      line >> index >> seen.calls;
      bool is_shared = false;
      for (std::string word; line >> word;) {
        if (word == "|") {
          is_shared = true;
        } else {
          (is_shared ? seen.shared : seen.written).insert(word);
        }
      }
      all[index] = seen;
      next = index + 1;
    }
    std::free(text);
    std::fclose(in);
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) ++next;  // this one crashed
  }
  return all;
}

std::vector<std::shared_ptr<Operator>> operators_of_torch() {
  std::vector<std::shared_ptr<Operator>> operators;
  for (const auto& an_operator : torch::jit::getAllOperators()) {
    if (is_callable(*an_operator) && graph_of(*an_operator)) operators.push_back(an_operator);
  }
  return operators;
}

TEST(Operators, ThatHideAWriteAreFoundByACall) {
  const auto found = torch::jit::findOperatorFor({"aten::native_batch_norm", ""});
  ASSERT_NE(found, nullptr);
  Seen seen;
  call(*found, {at::rand({4, 4}), {}, {}, at::zeros(4), at::ones(4), true, 0.5, 1e-5}, seen);
  EXPECT_THAT(seen.written, testing::ElementsAre("running_mean", "running_var"));
}

TEST(Operators, ThatGiveBackAnArgumentAreFoundByACall) {
  const auto found = torch::jit::findOperatorFor({"aten::type_as", ""});
  ASSERT_NE(found, nullptr);
  Seen seen;
  call(*found, {at::rand({4, 4}), at::rand(1)}, seen);
  EXPECT_THAT(seen.shared, testing::ElementsAre("self"));
}

TEST(Operators, WriteAndShareNoArgumentOfWhichItIsNotBelieved) {
  const char* asked = std::getenv("TENSOA_OPERATOR_CALLS");
  const auto operators = operators_of_torch();
  const auto all = call_all(operators, asked == nullptr ? 12 : std::atoi(asked));
  int called = 0;
  for (const auto& [index, seen] : all) {
    const Operator& an_operator = *operators[index];
    const std::vector<c10::Argument>& arguments = an_operator.schema().arguments();
    called += seen.calls > 0;
    if (seen.written.empty() && seen.shared.empty()) continue;
    const std::vector<bool> written = believed_writes(an_operator);
    const std::vector<bool> shared = believed_shares(an_operator);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const std::string& name = arguments[i].name();
      if (seen.written.contains(name)) {
        EXPECT_TRUE(written[i])
            << full_name(an_operator) << " writes " << name
            << ", which its schema hides: add it to kHiddenWrites in operator_effects.cpp";
      }
      if (seen.shared.contains(name)) {
        EXPECT_TRUE(shared[i])
            << full_name(an_operator) << " gives back " << name
            << ", which its schema hides: add it to kShares in operator_effects.cpp";
      }
    }
  }
  RecordProperty("operators", static_cast<int>(operators.size()));
  RecordProperty("called", called);
  std::printf("%d of %zu operators accepted an argument list\n", called, operators.size());
  EXPECT_GT(called, static_cast<int>(operators.size() / 3));
}

/// Names of arguments like running_mean: written by an operator that says so, though it is neither in
/// place nor has it an argument for its result.
std::set<std::string> names_of_state() {
  const std::set<std::string_view> of_many_meanings = {"dict",   "indices", "input",  "l",
                                                       "out",    "output",  "scale",  "self",
                                                       "tensor", "to_add",  "values", "zero_point"};
  std::set<std::string> names = {"dropout_state", "qaccum", "weight_arr"};
  for (const auto& an_operator : torch::jit::getAllOperators()) {
    const c10::FunctionSchema& schema = an_operator->schema();
    const auto& arguments = schema.arguments();
    if (!schema.name().starts_with("aten::") || schema.name().ends_with('_') ||
        std::ranges::any_of(arguments, &c10::Argument::is_out)) {
      continue;
    }
    for (const c10::Argument& argument : arguments) {
      if (argument.alias_info() != nullptr && argument.alias_info()->isWrite() &&
          !of_many_meanings.contains(argument.name())) {
        names.insert(argument.name());
      }
    }
  }
  return names;
}

/// Reviewed: these only read what has such a name.
constexpr std::string_view kReaders[] = {
    "aten::_batch_norm_impl_index_backward",
    "aten::_batch_norm_no_update",
    "aten::_batch_norm_with_update_functional",
    "aten::_fused_moving_avg_obs_fq_helper_functional",
    "aten::_native_batch_norm_legit_functional",
    "aten::_native_batch_norm_legit_no_training",
    "aten::batch_norm_backward",
    "aten::cudnn_batch_norm_backward",
    "aten::miopen_batch_norm_backward",
    "aten::native_batch_norm_backward",
    "aten::rrelu_with_noise_backward",
    "aten::rrelu_with_noise_functional",
};

/// A new torch may bring an operator that keeps its state in an argument, as batch norm does.
TEST(Operators, WithArgumentsThatAreStateElsewhereAreReviewed) {
  const std::set<std::string> names = names_of_state();
  EXPECT_THAT(names,
              testing::IsSupersetOf({"running_mean", "running_var", "running_min", "noise"}));
  std::set<std::string> readers;
  for (const auto& an_operator : torch::jit::getAllOperators()) {
    const c10::FunctionSchema& schema = an_operator->schema();
    if (an_operator->aliasAnalysisKind() != c10::AliasAnalysisKind::FROM_SCHEMA) continue;
    for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
      const c10::Argument& argument = schema.arguments()[i];
      if (!names.contains(argument.name()) || argument.alias_info() != nullptr) continue;
      if (graph_of(*an_operator) && !believed_writes(*an_operator)[i])
        readers.insert(schema.name());
    }
  }
  for (const std::string& name : readers) {
    EXPECT_THAT(kReaders, testing::Contains(name)) << "see whether it writes";
  }
}

}  // namespace
}  // namespace tensoa::pytorch
