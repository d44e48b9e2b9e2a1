// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/package/published.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tensoa/core/error.hpp"

namespace tensoa::package {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

BlockDescription block_called(const std::string& name, ColumnKind kind, std::size_t collection) {
  BlockDescription block;
  block.name = name;
  block.collection = collection;
  block.element = {kind, DType::kF32, 1, 1};
  if (kind == ColumnKind::kVector) block.element.rows = 3;
  block.columns = {{"r \"1\"", 0}, {"φ", 3}};
  return block;
}

PublishedModel some_model() {
  PublishedModel published;
  published.checksum = std::string(60, '0') + "9abf";
  published.named = NamedColumns::kAll;
  BindingDescription binding;
  binding.match = Match::kByName;
  binding.inputs = {block_called("hits", ColumnKind::kVector, 0),
                    block_called("edges", ColumnKind::kPlain, 1)};
  binding.outputs = {block_called("scores", ColumnKind::kPlain, 0),
                     block_called("one", ColumnKind::kPlain, 1)};
  published.model.inputs = {argument_of(binding.inputs[0], 0), argument_of(binding.inputs[1], 1)};
  published.model.outputs = {argument_of(binding.outputs[0], 1),
                             argument_of(binding.outputs[1], {}, 2)};
  published.model.binding = std::move(binding);
  published.model.row_dependence = {RowDependence::Answer::kDependent, "aten.mean, at model.py:3"};
  return published;
}

TEST(Published, SaysWhichColumnsHaveNames) {
  PublishedModel model = some_model();
  for (const NamedColumns named :
       {NamedColumns::kNone, NamedColumns::kInputs, NamedColumns::kAll}) {
    model.named = named;
    EXPECT_EQ(parse_published(to_json(model)).named, named);
  }
}

TEST(Published, ReadsWhatItWrites) {
  const PublishedModel expected = some_model();
  const PublishedModel got = parse_published(to_json(expected));
  EXPECT_EQ(got.checksum, expected.checksum);
  EXPECT_EQ(got.named, NamedColumns::kAll);
  EXPECT_EQ(to_json(*got.model.binding), to_json(*expected.model.binding));
  EXPECT_EQ(got.model.match, Match::kByName);
  ASSERT_EQ(got.model.inputs.size(), 2U);
  EXPECT_EQ(got.model.inputs[1].type, "float32[n1, 2]");
  ASSERT_EQ(got.model.outputs.size(), 2U);
  EXPECT_EQ(got.model.outputs[0].collection, 1U);
  EXPECT_EQ(got.model.outputs[1].collection, std::nullopt);
  EXPECT_EQ(got.model.outputs[1].rows, 2U);
  EXPECT_EQ(got.model.row_dependence.answer, RowDependence::Answer::kDependent);
  EXPECT_EQ(got.model.row_dependence.reason, "aten.mean, at model.py:3");
  EXPECT_EQ(to_json(got), to_json(expected));
}

TEST(Published, IgnoresKeysOfLaterVersions) {
  std::string json = to_json(some_model());
  json.insert(1, R"("later": [1, {"a": null}], )");
  EXPECT_EQ(to_json(parse_published(json)), to_json(some_model()));
}

TEST(Published, RowsAreUnknownWhereABackEndOfAnotherVersionDoesNotSayHowTheyAre) {
  std::string json = to_json(some_model());
  const std::size_t at = json.find("\"row_dependence\"");
  ASSERT_NE(at, std::string::npos);
  const RowDependence older = parse_published(json.substr(0, at - 1) + '}').model.row_dependence;
  EXPECT_EQ(older.answer, RowDependence::Answer::kUnknown);
  EXPECT_EQ(older.reason, "the server does not state it");
  json.replace(json.find("dependent\""), 9, "perhaps");
  const RowDependence later = parse_published(json).model.row_dependence;
  EXPECT_EQ(later.answer, RowDependence::Answer::kUnknown);
  EXPECT_THAT(later.reason, HasSubstr("a later version"));
}

TEST(Published, SaysWhatIsWrong) {
  const auto expect_refused = [](const std::string& from, const std::string& to,
                                 const std::string& why) {
    std::string json = to_json(some_model());
    const std::size_t at = json.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    json.replace(at, from.size(), to);
    EXPECT_THAT([&] { parse_published(json); }, ThrowsMessage<InputError>(HasSubstr(why))) << json;
  };
  expect_refused(R"({"schema":1,"ch)", R"({"schema":2,"ch)", "its schema is not 1");
  expect_refused("9abf", "9ABF", "not 64 hexadecimal digits");
  expect_refused("9abf", "9ab", "not 64 hexadecimal digits");
  expect_refused("\"named\"", "\"all\"", R"("columns" is none of "named", "inputs" and "any")");
  expect_refused("\"columns\":\"named\",", "", "\"columns\" is missing");
  expect_refused("\"binding\"", "\"bindung\"", "\"binding\" is missing");
  expect_refused("[{\"collection\":0},{\"collection\":1}]", "[{\"collection\":0}]",
                 "does not have an entry for each block");
  expect_refused("{\"rows\":2}", "{\"rows\":-2}", "\"rows\" is -2; expected a whole number");
  expect_refused("{\"rows\":2}", "{}", "no \"collection\" or \"rows\"");
  expect_refused("{\"rows\":2}", "{\"rows\":2,\"collection\":0}", "or both");
  expect_refused("{\"rows\":2}", "[]", "an entry that is not an object");
  expect_refused("[{\"collection\":0},{\"collection\":1}]",
                 "[{\"collection\":0},{\"collection\":2}]", "has the collection 2 of 2 blocks");
  expect_refused("[{\"collection\":0},{\"collection\":1}]",
                 "[{\"collection\":0},{\"collection\":0}]",
                 "has the rows of collection 1, which no input has");
  expect_refused("\"dependent\"", "\"independent\"", "the same number of rows at every call");
  expect_refused("φ", "\\u001b[2J", "control characters");
  expect_refused("φ", "\\u009b", "control characters");
  expect_refused("φ", "\xff", "is not JSON of an object");
  for (const char* const json : {"", "[]", "1", "{", "null"}) {
    EXPECT_THROW(parse_published(json), InputError) << json;
  }
  EXPECT_THAT([] { parse_published(std::string(100'000, '[')); },
              ThrowsMessage<InputError>(HasSubstr("nested deeper")));
}

TEST(Published, ACutOrChangedTextIsReadOrRefused) {
  const std::string json = to_json(some_model());
  for (std::size_t at = 0; at < json.size(); ++at) {
    EXPECT_THROW(parse_published(json.substr(0, at)), InputError);
    for (const char other : {'"', '0', '\\', '\x01'}) {
      std::string changed = json;
      changed[at] = other;
      try {
        parse_published(changed);
      } catch (const InputError&) {  // that is right too
      }
    }
  }
}

}  // namespace
}  // namespace tensoa::package
