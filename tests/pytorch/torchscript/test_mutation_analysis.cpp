// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "torchscript/mutation_analysis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/ir/irparser.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "script.hpp"
#include "torchscript/jit_file.hpp"

namespace tensoa::pytorch {
namespace {

/// A program and what a call of it may write.
struct Case {
  std::string name;
  std::string source;
  std::vector<bool> written;  ///< by argument
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

std::vector<bool> written_by(const std::string& source) {
  const auto module = torch::jit::freeze(test::module_of(source));
  const MutationAnalysis writes(*module.get_method("forward").graph());
  EXPECT_EQ(writes.state_writer(), "") << source;
  return writes.to_arguments();
}

class WritesOf : public testing::TestWithParam<Case> {};

TEST_P(WritesOf, AreFoundForEachArgumentByItself) {
  EXPECT_EQ(written_by(GetParam().source), GetParam().written);
}

std::string name_of(const testing::TestParamInfo<Case>& info) { return info.param.name; }

// The value that one round leaves under a name is written by the next round. Each result depends on what is written:
// torch removes writes without a reader.
INSTANTIATE_TEST_SUITE_P(Loops, WritesOf,
                         testing::Values(Case{"TwoBuffersSwap",
                                              R"(
def forward(self, x, y):
    cur = x
    nxt = torch.zeros_like(x)
    for i in range(x.size(0)):
        nxt.copy_(cur * 0.5)
        cur, nxt = nxt, cur
    return cur + y
)",
                                              {true, false}},
                                         Case{"TwoBuffersSwapWhile",
                                              R"(
def forward(self, x, y):
    cur = x
    nxt = torch.zeros_like(x)
    change = 1.0
    while change > 0.5:
        nxt.copy_(cur * 0.5)
        change = float((nxt - cur).abs().max())
        cur, nxt = nxt, cur
    return cur + y
)",
                                              {true, false}},
                                         Case{"ThreeBuffersTurn",
                                              R"(
def forward(self, x, y):
    a = x
    b = torch.zeros_like(x)
    c = torch.zeros_like(x)
    for i in range(x.size(0)):
        c = c.add_(y)
        a, b, c = b, c, a
    return a + b + c
)",
                                              {true, false}},
                                         Case{"TheOuterLoopSwapsWhatTheInnerWrites",
                                              R"(
def forward(self, x, y):
    a = y
    b = torch.zeros_like(x)
    for i in range(x.size(0)):
        for j in range(x.size(1)):
            b = b.add_(x)
        a, b = b, a
    return a + b
)",
                                              {false, true}},
                                         Case{"ABranchInALoopDecides",
                                              R"(
def forward(self, x, y):
    a = torch.zeros_like(x)
    for i in range(x.size(0)):
        a = a.add_(1.0) * 1.0 + 0.5
        if bool(a.sum() > 3.0):
            a = y
    return a + x
)",
                                              {false, true}},
                                         Case{"AViewIsCarried",
                                              R"(
def forward(self, x, y):
    a = torch.zeros_like(x)
    for i in range(x.size(0)):
        a = a.add_(y)
        a = x.view([-1]).view_as(x)
    return a + 1.0
)",
                                              {true, false}},
                                         Case{"AListIsCarried",
                                              R"(
def forward(self, x, y):
    pair = [x, torch.zeros_like(x)]
    for i in range(x.size(0)):
        pair[1].add_(y)
        pair = [pair[1], pair[0]]
    return pair[0] + pair[1]
)",
                                              {true, false}},
                                         Case{"AListIsTurnedInPlace",
                                              R"(
def forward(self, x, y):
    pair = [torch.zeros_like(x)]
    for i in range(x.size(0)):
        last = pair.pop()
        pair.append(y)
        last.add_(x)
        pair.append(last)
        pair.reverse()
    return pair[0]
)",
                                              {false, true}},
                                         Case{"ATupleIsCarried",
                                              R"(
def forward(self, x, y):
    pair = (x, torch.zeros_like(x))
    while float(pair[1].sum()) < 3.0:
        pair[1].add_(y)
        pair = (pair[1], pair[0])
    return pair[0] + pair[1]
)",
                                              {true, false}},
                                         Case{"ADictIsCarried",
                                              R"(
def forward(self, x, y):
    named = {"a": x, "b": torch.zeros_like(x)}
    for i in range(x.size(0)):
        named["b"].add_(y)
        named = {"a": named["b"], "b": named["a"]}
    return named["a"] + named["b"]
)",
                                              {true, false}},
                                         Case{"AnOptionalIsCarried",
                                              R"(
def forward(self, x, y):
    last: Optional[Tensor] = None
    total = torch.zeros_like(x)
    for i in range(x.size(0)):
        if last is not None:
            total = total + last.add_(1.0)
        last = x
    return total + y
)",
                                              {true, false}},
                                         Case{"AHelperOfTheModuleSwaps",
                                              R"(
def swap(self, a, b):
    return (b, a)

def forward(self, x, y):
    a = x
    b = torch.zeros_like(x)
    for i in range(x.size(0)):
        b = b.add_(y)
        a, b = self.swap(a, b)
    return a + b
)",
                                              {true, false}}),
                         name_of);

// Effects that a schema does not have.
INSTANTIATE_TEST_SUITE_P(HiddenWrites, WritesOf,
                         testing::Values(Case{"BatchNormInTraining",
                                              R"(
def forward(self, x, mean, var):
    return torch.batch_norm(x, None, None, mean, var, True, 0.5, 1e-5, False)
)",
                                              {false, true, true}},
                                         Case{"BatchNormInTrainingSometimes",
                                              R"(
def forward(self, x, mean, var):
    return torch.batch_norm(x, None, None, mean, var, bool(x.sum() > 0), 0.5, 1e-5, False)
)",
                                              {false, true, true}},
                                         Case{"BatchNormOfViews",
                                              R"(
def forward(self, x, mean, var):
    return torch.batch_norm(x, None, None, mean.flatten(), var[0], True, 0.5, 1e-5, False)
)",
                                              {false, true, true}},
                                         Case{"BatchNormInEvaluation",
                                              R"(
def forward(self, x, mean, var):
    return torch.batch_norm(x, None, None, mean, var, False, 0.5, 1e-5, False)
)",
                                              {false, false, false}},
                                         Case{"NativeBatchNorm",
                                              R"(
def forward(self, x, mean, var):
    return torch.native_batch_norm(x, None, None, mean, var, True, 0.5, 1e-5)[0]
)",
                                              {false, true, true}},
                                         Case{"BatchNormWithUpdate",
                                              R"(
def forward(self, x, mean, var):
    return torch._batch_norm_with_update(x, None, None, mean, var, 0.5, 1e-5)[0]
)",
                                              {false, true, true}},
                                         Case{"InstanceNormByItsInput",
                                              R"(
def forward(self, x, mean, var):
    return torch.instance_norm(x, None, None, mean, var, True, 0.5, 1e-5, False)
)",
                                              {false, true, true}},
                                         Case{"InstanceNormByStatistics",
                                              R"(
def forward(self, x, mean, var):
    return torch.instance_norm(x, None, None, mean, var, False, 0.5, 1e-5, False)
)",
                                              {false, false, false}},
                                         Case{"MemoryOfAnother",
                                              R"(
def forward(self, x, y):
    names = [torch.zeros_like(x)]
    names[0].set_(y)
    return names[0].add_(1.0) + x
)",
                                              {false, true}},
                                         Case{"SparseTensors",
                                              R"(
def forward(self, x, y):
    s = torch.sparse_coo_tensor(torch.nonzero(x + 1.0).t(), y.view([-1]), [8])
    return torch._values(s.mul_(2.0)) + x.view([-1])
)",
                                              {false, true}}),
                         name_of);

// The bias that is unpacked is the one that was packed. (Sources here have no names for these operators.)
TEST(WritesOfPackedParameters, ReachWhatTheyWereMadeOf) {
  const auto graph = std::make_shared<torch::jit::Graph>();
  torch::jit::parseIR(R"IR(
graph(%self, %x : Tensor, %y : Tensor):
  %scale : float = prim::Constant[value=0.1]()
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %qint8 : int = prim::Constant[value=12]()
  %q : Tensor = aten::quantize_per_tensor(%x, %scale, %zero, %qint8)
  %p : __torch__.torch.classes.quantized.LinearPackedParamsBase = quantized::linear_prepack(%q, %y)
  %w : Tensor, %b : Tensor? = quantized::linear_unpack(%p)
  %bias : Tensor = prim::unchecked_cast(%b)
  %more : Tensor = aten::add_(%bias, %one, %one)
  return (%more)
)IR",
                      graph.get());
  EXPECT_EQ(MutationAnalysis(*graph).to_arguments(), (std::vector<bool>{false, true}));
}

// As networks do it: nothing is copied.
INSTANTIATE_TEST_SUITE_P(NoInput, WritesOf,
                         testing::Values(Case{"StepsOfARecurrentCell",
                                              R"(
def forward(self, x, w):
    h = torch.zeros([x.size(1)])
    c = torch.zeros_like(h)
    steps: List[Tensor] = []
    for t in range(x.size(0)):
        gates = torch.sigmoid(x[t] @ w + h)
        c = gates * c + torch.tanh(x[t])
        h = gates * torch.tanh(c)
        steps.append(h)
    return torch.stack(steps)
)",
                                              {false, false}},
                                         Case{"RowsInAListBesideWhatIsWritten",
                                              R"(
def forward(self, x, y):
    rows: List[Tensor] = []
    sums = torch.zeros_like(y)
    for t in range(x.size(0)):
        rows.append(x[t])
        sums += x[t]
    return torch.stack(rows) + sums + y
)",
                                              {false, false}},
                                         Case{"ResultsAreFilled",
                                              R"(
def forward(self, x, y):
    out = torch.zeros_like(x)
    i = 0
    while i < x.size(0):
        out[i] = x[i] + y[i]
        out[i].mul_(2.0)
        i += 1
    return out
)",
                                              {false, false}},
                                         Case{"TwoBuffersOfTheProgramSwap",
                                              R"(
def forward(self, x, y):
    cur = x.clone()
    nxt = torch.zeros_like(x)
    for i in range(x.size(0)):
        nxt.copy_(cur * y)
        cur, nxt = nxt, cur
    return cur
)",
                                              {false, false}},
                                         Case{"ASumIsCarried",
                                              R"(
def forward(self, x, y):
    total = x + y
    for i in range(x.size(0)):
        total += x
        total = torch.relu_(total)
    return total
)",
                                              {false, false}},
                                         Case{"ADictOfInputsIsRead",
                                              R"(
def forward(self, x, y):
    named: Dict[str, Tensor] = {}
    named["x"] = x
    named["y"] = y
    named["sum"] = x + y
    total = torch.zeros_like(x)
    for name in named:
        total.add_(named[name])
    return total
)",
                                              {false, false}},
                                         Case{"NumbersInAList",
                                              R"(
def forward(self, x, y):
    sizes = x.size()
    sizes.append(1)
    sizes[0] = 2 * sizes[0] // 2
    return x.view(sizes).squeeze(-1) + y
)",
                                              {false, false}},
                                         Case{"LayersInPlace",
                                              R"(
def forward(self, x, y):
    h = torch.relu_(torch.linear(x, y))
    h = torch.layer_norm(h, [h.size(1)]).mul_(2.0)
    h = torch.dropout(h, 0.5, False)
    return torch.softmax(h, 1, None).add_(1.0)
)",
                                              {false, false}}),
                         name_of);

/// The values that a module owns must not change.
struct Change {
  std::string source;
  std::string by;
};

TEST(WritesToTheModule, AreFoundWithTheOperator) {
  const Change changes[] = {
      {R"(
def forward(self, x):
    return torch.batch_norm(x, None, None, self.mean, self.var, True, 0.5, 1e-5, False)
)",
       "aten::batch_norm"},
      {R"(
def forward(self, x):
    return torch.native_batch_norm(x, None, None, self.mean, self.var, True, 0.5, 1e-5)[0] + self.mean
)",
       "aten::native_batch_norm"},
      {R"(
def forward(self, x):
    a = self.mean
    b = torch.zeros_like(self.mean)
    for i in range(x.size(0)):
        b.copy_(a + x[0])
        a, b = b, a
    return a + b
)",
       "aten::copy_"},
      {R"(
def forward(self, x):
    self.list.append(x)
    return x + self.list[0]
)",
       "aten::append"},
      {R"(
def forward(self, x):
    lists = [self.list, [x]]
    for i in range(x.size(0)):
        lists[1].append(x)
        lists = [lists[1], lists[0]]
    return x + lists[0][0]
)",
       "aten::append"},
      {R"(
def forward(self, x):
    self.numbers[0] += 1
    return x + self.numbers[0]
)",
       "aten::_set_item"},
      {R"(
def forward(self, x):
    self.list[0].add_(x[0])
    return x + 1.0
)",
       "aten::add_"},
      {R"(
def forward(self, x):
    self.mean.set_(x)
    return x + self.mean
)",
       "aten::set_"},
      {R"(
def forward(self, x):
    self.mean = x
    return x + self.mean
)",
       "prim::SetAttr"},
  };
  for (const auto& [source, by] : changes) {
    const auto module = torch::jit::freeze(test::module_of(source));
    const MutationAnalysis writes(*module.get_method("forward").graph());
    EXPECT_EQ(writes.state_writer(), by) << source;
  }
}

TEST(WritesToTheModule, ThatOnlyTrainingMakesAreNone) {
  const char* const sources[] = {
      // Of torch 1.5 to 1.8: a batch norm that counts.
      R"(
def forward(self, x):
    if self.training:
        self.mean = self.mean + 1
    return torch.batch_norm(x, None, None, self.mean, self.var, self.training, 0.5, 1e-5, False)
)",
      R"(
def forward(self, x):
    if self.training and self.first:
        self.mean = x[0]
        return x
    return x + self.mean
)",
      R"(
def forward(self, x):
    while self.training:
        self.mean = x[0]
    return x + self.mean
)",
      // A value that only training sets decides whether another one is set, and so on.
      R"(
def forward(self, x):
    if self.training:
        self.first = True
    if self.first:
        self.second = True
    if self.second:
        self.mean = x[0]
    return x + self.mean
)",
  };
  for (const char* const source : sources) {
    auto module = test::module_of("");
    module.register_attribute("training", c10::BoolType::get(), true);
    module.register_attribute("first", c10::BoolType::get(), false);
    module.register_attribute("second", c10::BoolType::get(), false);
    module.define(source);
    module.eval();
    const MutationAnalysis writes(*frozen(module).get_method("forward").graph());
    EXPECT_EQ(writes.state_writer(), "") << source;
    module.setattr("first", true);
    const MutationAnalysis others(*frozen(module).get_method("forward").graph());
    const bool is_chain = std::string_view(source).find("second") != std::string_view::npos;
    EXPECT_EQ(others.state_writer(), is_chain ? "prim::SetAttr" : "") << source;
  }
}

TEST(WritesToTheModule, AreNotTakenForReads) {
  EXPECT_EQ(written_by(R"(
def forward(self, x):
    y = torch.batch_norm(x, None, None, self.mean, self.var, False, 0.5, 1e-5, False)
    kept = [self.mean, self.list[0]]
    kept.append(x)
    sizes = [self.numbers[0], 2]
    sizes.append(3)
    for t in range(x.size(0)):
        y += kept[0] + x
        kept = [kept[1], kept[0]]
    return y + self.mean + float(sizes[0])
)"),
            std::vector<bool>{false});
}

}  // namespace
}  // namespace tensoa::pytorch
