// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/function_loader.hpp"
#include "support/temporary_folder.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/package/inspect.hpp"

namespace tensoa::package {
namespace {

using testing::EndsWith;
using testing::ThrowsMessage;

class Describes final : public InspectingLoader {
 public:
  std::string_view name() const noexcept override { return "Describes"; }
  CompilationType compilation() const noexcept override { return CompilationType::kJustInTime; }
  bool accepts(const ModelLocation& location) const override {
    return location.path().extension() == ".described";
  }
  std::shared_ptr<const Engine> load(const ModelLocation&, Device,
                                     const ModelOptions&) const override {
    return nullptr;
  }
  ModelDescription inspect(const ModelLocation& location,
                           const ModelOptions& /*options*/) const override {
    ModelDescription model;
    model.format = "description of " + location.path().filename().string();
    return model;
  }
};

TEST(Inspect, AsksTheLoaderThatAcceptsTheFile) {
  const test::TemporaryFolder folder;
  register_loader(std::make_shared<const Describes>());
  test::register_function("Silent", ".silent", nullptr);
  EXPECT_EQ(inspect(folder.write("a.described", "")).format, "description of a.described");
  EXPECT_THAT([&] { inspect(folder.write("a.silent", "")); },
              ThrowsMessage<LoadError>(EndsWith(
                  "a.silent: is loaded by the engine Silent, which does not state what is in its "
                  "models")));
}

}  // namespace
}  // namespace tensoa::package
