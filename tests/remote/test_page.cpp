// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// The code of docs/service.md.

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <future>
#include <string>
#include <utility>

#include "fake_server.hpp"
#include "support/function_loader.hpp"
#include "support/temporary_folder.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/package/engines.hpp"
#include "tensoa/remote/engines.hpp"
#include "tensoa/remote/options.hpp"
#include "tensoa/remote/shared_memory.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

using namespace std::chrono_literals;

template <template <class> class F>
struct Values {
  F<float> x;
};

class Nothing final : public Engine {
 public:
  const Signature& signature() const noexcept override { return signature_; }
  CopyReport run(const Queue&, const Binding&, const Prepared&) const override { return {}; }

 private:
  Signature signature_{.inputs = {{.name = "x"}}, .required_inputs = 1};
};

TEST(ServicePage, TheCallIsThatOfAModelInTheProcess) {
  const std::vector<remote::WireTensor> tensor{{"x", "FP32", {-1}}};
  const test::FakeServer server([&](const std::string& method, const std::string& request) {
    if (method == remote::kModelMetadata) {
      return test::FakeReply{.message =
                                 test::metadata_reply("m", "", tensor, {{"y", "FP32", {-1}}})};
    }
    return test::FakeReply{
        .message = test::infer_reply({{"y", "FP32", {3}}}, test::parse_request(request).raw)};
  });
  test::register_engine_of<Nothing>("Nothing", ".nothing");
  const test::TemporaryFolder folder;
  const std::string package = folder.path() / "m.nothing";
  std::ofstream(package) << "nothing";
  const std::string url = "grpc://" + server.address() + "/m";
  const Queue queue(Device::cpu());
  PortableCollection<Values> in(3, Device::cpu());
  PortableCollection<Values> out(3, Device::cpu());
  in.view().x[0] = in.view().x[1] = in.view().x[2] = 4;
  SoAMetadata<Values> inputs(3);
  inputs.append_block("x", in.view().records().x());
  SoAMetadata<Values> outputs(3);
  outputs.append_block("y", out.view().records().x());
  // [shared]
  remote::SharedMemory memory(256 << 20);  // bytes of /dev/shm
  PortableCollection<Values> hits(1 << 20, Device::cpu(), memory);
  // [/shared]
  EXPECT_EQ(hits.size(), std::size_t{1} << 20);
  const ModelMetadata metadata(inputs, outputs);
  std::promise<Result<CopyReport>> done;
  // [call]
  remote::register_engines();
  package::register_engines();  // loads the fallback
  Model<> model(url, remote::Options{.deadline = 2s, .fallback = package});
  auto plan = model.plan(metadata);
  model.submit(queue, plan, [&](Result<CopyReport> result) { done.set_value(std::move(result)); });
  // [/call]
  const Result<CopyReport> result = done.get_future().get();
  ASSERT_TRUE(result) << result.message();
  EXPECT_EQ(out.const_view().x[2], 4);
}

}  // namespace
}  // namespace tensoa
