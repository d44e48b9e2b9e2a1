// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/remote/engines.hpp"

#include "engine/describe_model.hpp"
#include "engine/remote_engine.hpp"
#include "service/service.hpp"
#include "tensoa/package/inspect.hpp"
#include "tensoa/remote/options.hpp"

namespace tensoa::remote {
namespace {

class RemoteLoader final : public package::InspectingLoader {
 public:
  std::string_view name() const noexcept override { return "service"; }

  /// The server has compiled it.
  CompilationType compilation() const noexcept override { return CompilationType::kAheadOfTime; }

  bool accepts(const ModelLocation& location) const override {
    return location.scheme() == "grpc" || location.scheme() == "grpcs";
  }

  bool takes(std::type_index options) const noexcept override { return options == typeid(Options); }

  std::shared_ptr<const Engine> load(const ModelLocation& location, Device device,
                                     const ModelOptions& options) const override {
    return load_remote_engine(location, device, options.get<Options>());
  }

  package::ModelDescription inspect(const ModelLocation& location,
                                    const ModelOptions& options) const override {
    const std::shared_ptr<Service> service = Service::make(location, options.get<Options>());
    service->load();
    return describe_model(*service->model());
  }
};

}  // namespace

void register_engines() { register_loader(std::make_shared<const RemoteLoader>()); }

}  // namespace tensoa::remote
