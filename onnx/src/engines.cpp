// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/onnx/engines.hpp"

#include <atomic>
#include <string_view>
#include <utility>

#include "library_file.hpp"
#include "onnx_engine.hpp"
#include "tensoa/package/engines.hpp"
#include "tensoa/package/file_kind.hpp"

namespace tensoa::onnx {
namespace {

// [loader]
class OnnxLoader final : public package::InspectingLoader {
 public:
  std::string_view name() const noexcept override { return "ONNX"; }
  CompilationType compilation() const noexcept override { return CompilationType::kJustInTime; }

  bool accepts(const ModelLocation& location) const override {
    if (!location.is_file()) return false;
    const package::FileKind kind = package::kind_of_file(location.path());
    return kind == package::FileKind::kOnnx ||
           (kind == package::FileKind::kUnknown && location.path().extension() == ".onnx");
  }

  std::shared_ptr<const Engine> load(const ModelLocation& location, Device device,
                                     const ModelOptions& /*options*/) const override {
    return load_onnx_engine(location.path(), device);
  }

  package::ModelDescription inspect(const ModelLocation& location,
                                    const ModelOptions& /*options*/) const override {
    return inspect_onnx(location.path());
  }
};
// [/loader]

}  // namespace

// [register]
void register_engines(std::function<std::filesystem::path()> find) {
  static std::atomic<bool> is_registered{false};
  if (is_registered.exchange(true)) return;
  find_package_by(std::move(find));
  package::register_engines();
  register_loader(std::make_shared<const OnnxLoader>());
}
// [/register]

}  // namespace tensoa::onnx
