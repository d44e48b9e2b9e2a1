// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Models of services, against servers in this process whose answers the tests choose. tests/service/ has real ones.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <future>
#include <latch>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "calls.hpp"
#include "fake_server.hpp"
#include "one_attempt.hpp"
#include "support/function_loader.hpp"
#include "support/temporary_folder.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/remote/engines.hpp"
#include "tensoa/remote/options.hpp"
#include "tensoa/remote/service_error.hpp"
#include "tensoa/remote/statistics.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

using namespace std::chrono_literals;
using remote::CallStatus;
using remote::Options;
using remote::ServiceError;
using test::Event;
using test::FakeReply;
using test::FakeServer;
using test::Hits;
using test::Scores;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Ne;
using testing::SizeIs;
using testing::ThrowsMessage;

const std::vector<remote::WireTensor> kInput{{"x", "FP32", {-1, 3}}};
const std::vector<remote::WireTensor> kOutput{{"y", "FP32", {-1, 3}}};

/// Longer than anything takes: only a test that fails waits so long.
constexpr std::chrono::milliseconds kLong = 60s;

/// A server of the model "echo", whose output is its input.
FakeReply echo(const std::string& method, const std::string& request) {
  if (method == remote::kModelReady) return {.message = std::string("\x08\x01", 2)};
  if (method == remote::kModelMetadata) {
    return {.message = test::metadata_reply("echo", "python", kInput, kOutput)};
  }
  const test::SeenRequest seen = test::parse_request(request);
  return {.message =
              test::infer_reply({{"y", seen.inputs[0].datatype, seen.inputs[0].sizes}}, seen.raw)};
}

/// One that answers inferences as `infer` says, and all else as echo does.
FakeServer::Handler with_infer(std::function<FakeReply(const std::string& request)> infer) {
  return [infer = std::move(infer)](const std::string& method, const std::string& request) {
    return method == remote::kModelInfer ? infer(request) : echo(method, request);
  };
}

FakeServer::Handler failing(int code, const std::string& message) {
  return with_infer(
      [=](const std::string&) { return FakeReply{.status = {.code = code, .message = message}}; });
}

std::string url_of(const std::vector<const FakeServer*>& servers,
                   const std::string& model = "echo") {
  std::string url = "grpc://";
  for (const FakeServer* server : servers) {
    url += (url.back() == '/' ? "" : ",") + server->address();
  }
  return url + '/' + model;
}

class RemoteEngine : public testing::Test, protected Event {
 protected:
  RemoteEngine() : Event(0) {}

  void SetUp() override {
    remote::register_engines();
    resize(40);
  }

  void resize(std::size_t n) {
    static_cast<Event&>(*this) = Event(n);
    const auto view = hits.view();
    for (std::size_t i = 0; i < n; ++i) {
      view.x[i] = static_cast<float>(i);
      view.y[i] = static_cast<float>(i) + 0.25F;
      view.z[i] = -static_cast<float>(i);
    }
  }

  bool is_echoed() const { return is_multiplied_by(1); }

  /// The failure of a call.
  ServiceError failure_of(const Model<>& model) {
    return test::failure_of([&] { model.forward(queue_, model.plan(metadata())); });
  }

  Queue queue_{Device::cpu()};
};

TEST_F(RemoteEngine, SendsColumnsAndWritesTheAnswerToColumns) {
  const FakeServer server(echo);
  const Model<> model(url_of({&server}));
  // The last one has pieces that are borrowed.
  for (const std::size_t n : {1U, 7U, 1000U, 30'000U}) {
    resize(n);
    const CopyReport report = model.forward(queue_, model.plan(metadata()));
    EXPECT_TRUE(is_echoed()) << n;
    EXPECT_EQ(report.bytes_out, n * 12);
  }
}

TEST_F(RemoteEngine, SendsRowMajorTensorsByName) {
  std::string seen;
  const FakeServer server(with_infer([&](const std::string& request) {
    seen = request;
    return echo(remote::kModelInfer, request);
  }));
  const Model<> model(url_of({&server}) + "/1");
  resize(2);
  model.forward(queue_, model.plan(metadata()));
  const test::SeenRequest request = test::parse_request(seen);
  EXPECT_EQ(request.model, "echo");
  ASSERT_THAT(request.inputs, SizeIs(1));
  EXPECT_EQ(request.inputs[0].name, "x");
  EXPECT_THAT(request.inputs[0].sizes, ElementsAre(2, 3));
  EXPECT_THAT(request.outputs, ElementsAre("y"));
  ASSERT_THAT(request.raw, SizeIs(1));
  std::array<float, 6> rows{};
  ASSERT_EQ(request.raw[0].size(), sizeof(rows));
  std::memcpy(rows.data(), request.raw[0].data(), sizeof(rows));
  EXPECT_THAT(rows, ElementsAre(0, 0.25F, 0, 1, 1.25F, -1));
}

TEST_F(RemoteEngine, RepacksColumnsThatMayNotBeWritten) {
  const std::vector<remote::WireTensor> in{{"x", "FP32", {-1, 3, -1}}};
  const std::vector<remote::WireTensor> out{{"y", "FP32", {-1, 3, -1}}};
  const FakeServer planes([&](const std::string& method, const std::string& request) {
    if (method != remote::kModelMetadata) return echo(method, request);
    return FakeReply{.message = test::metadata_reply("echo", "tensoa", in, out)};
  });
  const FakeServer rows(echo);
  for (const FakeServer* const server : {&rows, &planes}) {
    const Model<> model(url_of({server}));
    resize(40);
    auto from = hits.const_view().records();
    SoAMetadata<Hits> inputs(hits.size());
    inputs.append_block(Repack{}, "x", from.z(), from.x(), from.y());
    auto to = scores.view().records();
    SoAMetadata<Scores> outputs(scores.size());
    outputs.append_block(Repack{}, "y", to.c(), to.a(), to.b());
    model.forward(queue_, model.plan(ModelMetadata(inputs, outputs)));
    EXPECT_TRUE(is_echoed());
  }
}

template <template <class> class F>
struct Doubles {
  F<double> x;
  F<double> y;
};

TEST_F(RemoteEngine, SendsColumnsThatAPackageConvertsAsTheyAre) {
  std::string seen;
  const std::vector<remote::WireTensor> in{{"x", "FP64", {-1, 2, -1}}};
  const std::vector<remote::WireTensor> out{{"y", "FP64", {-1, 2, -1}}};
  const FakeServer server([&](const std::string& method, const std::string& request) {
    if (method == remote::kModelMetadata) {
      return FakeReply{.message = test::metadata_reply("echo", "tensoa", in, out)};
    }
    if (method == remote::kModelInfer) seen = request;
    return echo(method, request);
  });
  const Model<> model(url_of({&server}));
  PortableCollection<Doubles> from(3, Device::cpu());
  PortableCollection<Doubles> to(3, Device::cpu());
  const double exact = 1.0 + 1e-12;  // no float32
  for (std::size_t i = 0; i < 3; ++i) from.view().x[i] = from.view().y[i] = exact;
  auto read = from.const_view().records();
  SoAMetadata<Doubles> inputs(3);
  inputs.append_block(Repack{DType::kF32}, "x", read.x(), read.y());
  auto written = to.view().records();
  SoAMetadata<Doubles> outputs(3);
  outputs.append_block(Repack{DType::kF32}, "y", written.x(), written.y());
  model.forward(queue_, model.plan(ModelMetadata(inputs, outputs)));
  EXPECT_EQ(test::parse_request(seen).raw.at(0).size(), 6 * sizeof(double));
  EXPECT_EQ(to.const_view().x[2], exact);
  EXPECT_EQ(to.const_view().y[0], exact);
}

TEST_F(RemoteEngine, SendsPlanesToTheBackEndOfTensoaWithoutACopy) {
  std::string seen;
  const std::vector<remote::WireTensor> in{{"x", "FP32", {-1, 3, -1}}};
  const std::vector<remote::WireTensor> out{{"y", "FP32", {-1, 3, -1}}};
  const FakeServer server([&](const std::string& method, const std::string& request) {
    if (method == remote::kModelMetadata) {
      return FakeReply{.message = test::metadata_reply("echo", "tensoa", in, out)};
    }
    seen = request;
    return echo(method, request);
  });
  const Model<> model(url_of({&server}));
  resize(20'000);
  const CopyReport report = model.forward(queue_, model.plan(metadata()));
  EXPECT_TRUE(is_echoed());
  EXPECT_EQ(report.bytes_in, 0U);
  const test::SeenRequest request = test::parse_request(seen);
  EXPECT_THAT(request.inputs.at(0).sizes, ElementsAre(1, 3, 20'000));
  EXPECT_EQ(std::memcmp(request.raw.at(0).data() + 80'000, hits.view().y.data(), 80'000), 0);
}

TEST_F(RemoteEngine, PassesNanAndInfinityThrough) {
  const FakeServer server(echo);
  const Model<> model(url_of({&server}));
  hits.view().x[3] = std::numeric_limits<float>::quiet_NaN();
  hits.view().y[3] = std::numeric_limits<float>::infinity();
  model.forward(queue_, model.plan(metadata()));
  EXPECT_TRUE(std::isnan(scores.view().a[3]));
  EXPECT_EQ(scores.view().b[3], std::numeric_limits<float>::infinity());
}

TEST_F(RemoteEngine, CompletesEverySubmittedCallOnceWithItsOwnAnswer) {
  const FakeServer first(echo);
  const FakeServer second(echo);
  const Model<> model(url_of({&first, &second}));
  constexpr std::size_t kCalls = 200;
  std::vector<PortableCollection<Hits>> in;
  std::vector<PortableCollection<Scores>> out;
  std::atomic<std::size_t> completed = 0;
  std::atomic<std::size_t> failed = 0;
  std::promise<void> all;
  for (std::size_t call = 0; call < kCalls; ++call) {
    in.emplace_back(call % 90 + 1, Device::cpu());
    out.emplace_back(call % 90 + 1, Device::cpu());
    for (std::size_t i = 0; i < in.back().size(); ++i) {
      in.back().view().x[i] = in.back().view().y[i] = in.back().view().z[i] =
          static_cast<float>(call);
    }
  }
  Plan plan = model.plan(metadata());
  for (std::size_t call = 0; call < kCalls; ++call) {
    plan.rebind(in[call].view(), out[call].view());
    model.submit(queue_, plan, [&](const Result<CopyReport>& result) {
      failed += result ? 0 : 1;
      if (++completed == kCalls) all.set_value();
    });
  }
  ASSERT_EQ(all.get_future().wait_for(kLong), std::future_status::ready);
  EXPECT_EQ(failed, 0U);
  for (std::size_t call = 0; call < kCalls; ++call) {
    const auto view = out[call].const_view();
    EXPECT_EQ(view.a[0], static_cast<float>(call));
    EXPECT_EQ(view.c[out[call].size() - 1], static_cast<float>(call));
  }
}

TEST_F(RemoteEngine, SubmitsToTheServerWithFewerCallsInFlight) {
  std::promise<void> submitted;
  const std::shared_future<void> is_submitted = submitted.get_future().share();
  const auto waiting = with_infer([&](const std::string& request) {
    is_submitted.wait();
    return echo(remote::kModelInfer, request);
  });
  const FakeServer first(waiting);
  const FakeServer second(waiting);
  const Model<> model(url_of({&first, &second}));
  Plan plan = model.plan(metadata());
  constexpr std::ptrdiff_t kCalls = 20;
  std::vector<PortableCollection<Scores>> out;
  std::latch completed(kCalls);
  for (std::ptrdiff_t call = 0; call < kCalls; ++call) {
    out.emplace_back(hits.size(), Device::cpu());
    plan.rebind(hits.view(), out.back().view());
    model.submit(queue_, plan, [&](const Result<CopyReport>& result) {
      EXPECT_TRUE(result);
      completed.count_down();
    });
  }
  submitted.set_value();
  completed.wait();
  for (const remote::ServerStatistics& server : remote::statistics()) {
    EXPECT_EQ(server.requests, kCalls / 2) << server.server;
  }
}

TEST_F(RemoteEngine, TriesAnotherServerWhenOneIsGoneOrGoing) {
  const FakeServer works(echo);
  for (const CallStatus& status : {CallStatus{14, "connection lost"},
                                   {5, "model has no available versions"},
                                   {4, "too late"},
                                   {2, "Stream removed"}}) {
    std::atomic<int> asked = 0;
    const FakeServer fails(with_infer([&](const std::string& request) {
      const bool is_probe = test::parse_request(request).inputs[0].sizes[0] != 40;
      asked += is_probe ? 0 : 1;
      return FakeReply{.status = status};
    }));
    const Model<> model(url_of({&fails, &works}));
    for (int call = 0; call < 40; ++call) {
      resize(40);
      model.forward(queue_, model.plan(metadata()));
      EXPECT_TRUE(is_echoed());
    }
    EXPECT_EQ(asked, 1) << status.code << ": after it only probes, of which none succeeds";
  }
}

TEST_F(RemoteEngine, RepeatsAFailureThatMayPassOnTheSameServer) {
  std::atomic<int> asked = 0;
  const FakeServer server(with_infer([&](const std::string& request) {
    if (++asked < 4) return FakeReply{.status = {14, "try again"}};
    return echo(remote::kModelInfer, request);
  }));
  const Model<> model(url_of({&server}));
  model.forward(queue_, model.plan(metadata()));
  EXPECT_TRUE(is_echoed());
  EXPECT_GE(asked, 4);  // a probe may have asked too
}

TEST_F(RemoteEngine, NeverRepeatsWhatIsFinalButForOneWordAgainstTheRequest) {
  for (const int code : {3, 5, 7, 9, 12, 13, 16}) {
    std::atomic<int> asked = 0;
    const FakeServer server(with_infer([&](const std::string&) {
      ++asked;
      return FakeReply{.status = {code, "because of the test"}};
    }));
    const Model<> model(url_of({&server}));
    const ServiceError error = failure_of(model);
    if (code == 3) {
      EXPECT_THAT(asked.load(), ::testing::AnyOf(2, 3)) << "a probe may have asked too";
    } else {
      EXPECT_EQ(asked, 1) << code;
    }
    EXPECT_EQ(error.code(), code);
    EXPECT_EQ(error.server(), server.address());
    EXPECT_FALSE(error.may_retry());
    EXPECT_THAT(error.what(), AllOf(HasSubstr(url_of({&server})), HasSubstr("because of the test"),
                                    HasSubstr("(" + std::to_string(code) + ")")));
    EXPECT_TRUE(is_untouched());
  }
}

TEST_F(RemoteEngine, SaysAfterHowManyAttemptsItGaveUp) {
  const FakeServer server(failing(14, "down for the test"));
  const Model<> model(url_of({&server}), Options{.retry = {.attempts = 3, .first_pause = 1ms}});
  const ServiceError error = failure_of(model);
  EXPECT_TRUE(error.may_retry());
  EXPECT_THAT(error.what(), AllOf(HasSubstr("UNAVAILABLE (14), down for the test; 3 attempts"),
                                  HasSubstr("fallback")));
}

TEST_F(RemoteEngine, KeepsTheDeadlineOfACall) {
  std::promise<void> failed;
  const std::shared_future<void> has_failed = failed.get_future().share();
  std::atomic<int> answered = 0;
  const FakeServer server(with_infer([&](const std::string& request) {
    has_failed.wait();  // the server answers a call that is over
    ++answered;
    return echo(remote::kModelInfer, request);
  }));
  const Model<> model(url_of({&server}), Options{.deadline = 200ms});
  const ServiceError error = failure_of(model);
  EXPECT_EQ(answered, 0);
  failed.set_value();
  EXPECT_EQ(error.code(), 4);
  EXPECT_THAT(error.what(), HasSubstr("remote::Options::deadline"));
  EXPECT_TRUE(is_untouched());
}

TEST_F(RemoteEngine, RefusesRepliesThatAreNoAnswer) {
  const std::string floats(40 * 12, '\0');
  const remote::WireTensor right{"y", "FP32", {40, 3}};
  using Case = std::pair<std::string, const char*>;
  for (const auto& [reply, why] : std::vector<Case>{
           {test::infer_reply({right}, {floats.substr(1)}), "sent 479 bytes"},
           {test::infer_reply({right}, {floats + "x"}), "sent 481 bytes"},
           {test::infer_reply({right}, {floats}).substr(0, 100), "leads beyond the end"},
           {test::infer_reply({}, {}), "sent no output \"y\""},
           {test::infer_reply({{"z", "FP32", {40, 3}}}, {floats}), "sent no output \"y\""},
           {test::infer_reply({right, right}, {floats}), "fewer raw contents than outputs"},
           {test::infer_reply({right}, {floats, floats}), "more raw contents than outputs"},
           {test::infer_reply({{"y", "FP32", {3, 40}}}, {floats}), "\"y\" FP32[3, 40], expected"},
           {test::infer_reply({{"y", "INT32", {40, 3}}}, {floats}), "\"y\" INT32[40, 3], expected"},
           {test::infer_reply({{"y", "FP32", {-40, 3}}}, {floats}), "is negative"},
           {test::infer_reply({{"y", "FP32", {1LL << 40, 1LL << 40}}}, {floats}), "larger than"},
           {"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "more than ten bytes"},
           {"", "sent no output"}}) {
    const FakeServer server(
        with_infer([&, text = reply](const std::string&) { return FakeReply{.message = text}; }));
    const Model<> model(url_of({&server}));
    const ServiceError error = failure_of(model);
    EXPECT_EQ(error.code(), 13);
    EXPECT_THAT(error.what(), HasSubstr(why));
    EXPECT_TRUE(is_untouched());
  }
}

TEST_F(RemoteEngine, TakesNumbersInsteadOfRawBytes) {
  const FakeServer server(with_infer([](const std::string& request) {
    const test::SeenRequest seen = test::parse_request(request);
    remote::protobuf::Encoder contents;  // InferTensorContents: fp32_contents, packed
    contents.bytes(6, seen.raw.at(0));
    remote::protobuf::Encoder tensor;
    tensor.text(1, "y");
    tensor.text(2, "FP32");
    tensor.numbers(3, seen.inputs.at(0).sizes);
    tensor.bytes(5, contents.bytes());
    remote::protobuf::Encoder reply;
    reply.bytes(5, tensor.bytes());
    return FakeReply{.message = reply.take()};
  }));
  const Model<> model(url_of({&server}));
  model.forward(queue_, model.plan(metadata()));
  EXPECT_TRUE(is_echoed());
}

TEST_F(RemoteEngine, RefusesColumnsThatTheModelDoesNotTake) {
  const auto expect_refused = [&](const std::vector<remote::WireTensor>& inputs,
                                  const std::vector<remote::WireTensor>& outputs,
                                  const std::string& why) {
    const FakeServer server([&](const std::string&, const std::string&) {
      return FakeReply{.message = test::metadata_reply("echo", "python", inputs, outputs)};
    });
    const Model<> model(url_of({&server}));
    EXPECT_THAT([&] { model.plan(metadata()); }, ThrowsMessage<BindingError>(HasSubstr(why)));
  };
  expect_refused({{"x", "FP32", {-1, 4}}}, kOutput,
                 "FP32[40, 3], the server's \"x\" is FP32[?, 4]");
  expect_refused({{"x", "FP64", {-1, 3}}}, kOutput, "is FP32, the server's \"x\" is FP64[?, 3]");
  expect_refused(kInput, {{"y", "INT64", {-1, 3}}}, "is FP32, the server's \"y\" is INT64[?, 3]");
  expect_refused(kInput, {{"y", "FP32", {41, 3}}},
                 "FP32[40, 3], the server's \"y\" is FP32[41, 3]");
  expect_refused(kInput, {}, "gives 0 outputs, got 1 output blocks");
  expect_refused({kInput[0], {"w", "FP32", {-1, 1}}}, kOutput, "w");
}

TEST_F(RemoteEngine, FitsDimensionsOfOneElement) {
  const FakeServer server([&](const std::string& method, const std::string& request) {
    if (method != remote::kModelMetadata) return echo(method, request);
    return FakeReply{.message = test::metadata_reply("echo", "python", {{"x", "FP32", {-1, -1, 3}}},
                                                     {{"y", "FP32", {-1, -1, 3}}})};
  });
  const Model<> model(url_of({&server}));
  model.forward(queue_, model.plan(metadata()));
  EXPECT_TRUE(is_echoed());
}

TEST_F(RemoteEngine, SaysAtLoadingWhatIsWrong) {
  const auto load = [](const std::string& url, std::chrono::milliseconds deadline = kLong) {
    return [=] { Model<>(url, Options{.load_deadline = deadline}).deploy(Device::cpu()); };
  };
  for (const char* const away :
       {"grpc://127.0.0.1:1/echo", "grpc://no-such-host.invalid:8001/echo"}) {
    EXPECT_THROW(load(away, 300ms)(), ServiceError);
    EXPECT_THAT(test::failure_of_one_attempt(away).what(),
                AllOf(HasSubstr("UNAVAILABLE (14)"), HasSubstr("check host and port")));
  }
  EXPECT_THAT(load("grpc://127.0.0.1:8001"), ThrowsMessage<LoadError>(HasSubstr("got no model")));
  EXPECT_THAT(load("grpc://127.0.0.1:port/m"),
              ThrowsMessage<LoadError>(HasSubstr("got the port \"port\"")));
  EXPECT_THAT(load("grpc:///m"), ThrowsMessage<LoadError>(HasSubstr("without a host")));
  EXPECT_THAT(load("grpc://a:1/m/new"),
              ThrowsMessage<LoadError>(HasSubstr("got the version \"new\"")));
  const FakeServer unknown([](const std::string&, const std::string&) {
    return FakeReply{.status = {5, "Request for unknown model: 'echo' is not found"}};
  });
  EXPECT_THAT(load(url_of({&unknown})),
              ThrowsMessage<LoadError>(AllOf(HasSubstr("NOT_FOUND (5), Request for unknown model"),
                                             HasSubstr("name and version"))));
  const FakeServer other([](const std::string&, const std::string&) {
    return FakeReply{.message = test::metadata_reply("other", "python", kInput, kOutput)};
  });
  EXPECT_THAT(load(url_of({&other})),
              ThrowsMessage<LoadError>(HasSubstr("answered for the model \"other\"")));
  const FakeServer echoes(echo);
  EXPECT_THAT(load(url_of({&echoes}) + "/7"),
              ThrowsMessage<LoadError>(HasSubstr("does not have version 7")));
  const FakeServer garbage(
      [](const std::string&, const std::string&) { return FakeReply{.message = "\x0A\x7F"}; });
  EXPECT_THAT(load(url_of({&garbage})),
              ThrowsMessage<LoadError>(HasSubstr("metadata that cannot be read")));
}

/// Writes 5 to the outputs.
class Five final : public Engine {
 public:
  const Signature& signature() const noexcept override { return signature_; }
  CopyReport run(const Queue&, const Binding& binding, const Prepared&) const override {
    for (const BoundBlock& block : binding.outputs) {
      const TensorView& tensor = block.tensor;
      for (std::int64_t row = 0; row < tensor.size_of_dim[0]; ++row) {
        for (std::int64_t column = 0; column < tensor.size_of_dim[1]; ++column) {
          static_cast<float*>(tensor.data)[row + column * tensor.stride_of_dim[1]] = 5;
        }
      }
    }
    return {};
  }

 private:
  Signature signature_{.inputs = {{.name = "x"}}, .required_inputs = 1};
};

class Fallback : public RemoteEngine {
 protected:
  void SetUp() override {
    RemoteEngine::SetUp();
    test::register_engine_of<Five>("Five", ".five");
    std::ofstream(folder_.path() / "model.five") << "five";
    options_.fallback = folder_.path() / "model.five";
    options_.load_deadline = kLong;
    options_.retry = {.attempts = 2, .first_pause = 1ms};
  }

  bool is_five() const {
    const auto view = scores.const_view();
    return view.a[0] == 5 && view.c[scores.size() - 1] == 5;
  }

  test::TemporaryFolder folder_;
  Options options_;
};

TEST_F(Fallback, RunsWhenNoServerAnswersACall) {
  const FakeServer server(failing(14, "gone"));
  const Model<> model(url_of({&server}), options_);
  model.forward(queue_, model.plan(metadata()));
  EXPECT_TRUE(is_five());
}

TEST_F(Fallback, RunsWhenAReplyIsNotAnAnswer) {
  const FakeServer server(with_infer([](const std::string&) { return FakeReply{}; }));
  const Model<> model(url_of({&server}), options_);
  model.forward(queue_, model.plan(metadata()));
  EXPECT_TRUE(is_five());
}

TEST_F(Fallback, DoesNotRunWhenTheRequestIsWrong) {
  const FakeServer server(failing(3, "wrong shape"));
  const Model<> model(url_of({&server}), options_);
  EXPECT_EQ(failure_of(model).code(), 3);
  EXPECT_TRUE(is_untouched());
}

TEST_F(Fallback, DoesNotRunWhenAServerAnswers) {
  const FakeServer server(echo);
  const Model<> model(url_of({&server}), options_);
  model.forward(queue_, model.plan(metadata()));
  EXPECT_TRUE(is_echoed());
}

TEST_F(Fallback, RunsFromTheStartUntilAServerIsThere) {
  std::string address;
  {
    const FakeServer gone(echo);
    address = gone.address();
  }
  options_.load_deadline = 300ms;
  const Model<> model("grpc://" + address + "/echo", options_);
  const Plan plan = model.plan(metadata());
  model.forward(queue_, plan);
  EXPECT_TRUE(is_five());
  const FakeServer server(echo, address);
  const auto end = std::chrono::steady_clock::now() + kLong;
  while (!is_echoed() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(50ms);
    model.forward(queue_, plan);
  }
  EXPECT_TRUE(is_echoed());
}

TEST_F(Fallback, RunsWhereTheCallerWants) {
  const FakeServer server(failing(14, "gone"));
  std::promise<std::function<void()>> handed;
  options_.run_fallback = [&](std::function<void()> call) { handed.set_value(std::move(call)); };
  const Model<> model(url_of({&server}), options_);
  const Plan plan = model.plan(metadata());
  std::promise<std::thread::id> done;
  model.submit(queue_, plan, [&](const Result<CopyReport>& result) {
    EXPECT_TRUE(result) << result.message();
    done.set_value(std::this_thread::get_id());
  });
  handed.get_future().get()();
  EXPECT_EQ(done.get_future().get(), std::this_thread::get_id());
  EXPECT_TRUE(is_five());
}

TEST_F(Fallback, ThatIsDroppedOrRefusedFailsTheCall) {
  const FakeServer server(failing(14, "gone"));
  const auto failure = [&] {
    const Model<> model(url_of({&server}), options_);
    std::promise<std::string> done;
    model.submit(queue_, model.plan(metadata()),
                 [&](const Result<CopyReport>& result) { done.set_value(result.message()); });
    return done.get_future().get();
  };
  options_.run_fallback = [](const std::function<void()>&) {};
  EXPECT_THAT(failure(), AllOf(HasSubstr(url_of({&server})), HasSubstr("run_fallback dropped")));
  options_.run_fallback = [](const std::function<void()>&) {
    throw std::runtime_error("the scheduler is over");
  };
  EXPECT_EQ(failure(), "the scheduler is over");
  EXPECT_TRUE(is_untouched());
}

TEST_F(RemoteEngine, RefusesOptionsThatCannotWork) {
  const auto load = [&](const std::string& url, const Options& options) {
    return [=] { Model<>(url, options).deploy(Device::cpu()); };
  };
  EXPECT_THAT(load("grpc://a:1/m", {.token_file = "token"}),
              ThrowsMessage<LoadError>(HasSubstr("not encrypted; use grpcs://")));
  EXPECT_THAT(
      load("grpcs://a:1/m", {.ca_file = "/nowhere/ca.pem"}),
      ThrowsMessage<LoadError>(HasSubstr("the certificates /nowhere/ca.pem: cannot be read")));
  EXPECT_THAT(load("grpcs://a:1/m", {.certificate_file = "cert.pem"}),
              ThrowsMessage<LoadError>(HasSubstr("expected both, or none")));
  EXPECT_THAT(load("grpc://a:1/m", {.deadline = 0ms}),
              ThrowsMessage<LoadError>(HasSubstr("a deadline of 0")));
  EXPECT_THAT(load("grpc://a:1/m", {.fallback = "/nowhere/model.pt2"}),
              ThrowsMessage<LoadError>(HasSubstr("/nowhere/model.pt2")));
}

TEST_F(RemoteEngine, TakesTheLongestTimesForNoDeadline) {
  const FakeServer server(echo);
  constexpr auto kNone = std::chrono::milliseconds::max();
  const Model<> model(url_of({&server}), Options{.deadline = kNone,
                                                 .attempt_deadline = kNone,
                                                 .load_deadline = kNone,
                                                 .lookup_period = kNone});
  model.forward(queue_, model.plan(metadata()));
  EXPECT_TRUE(is_echoed());
}

TEST_F(RemoteEngine, RefusesARequestAboveTheLimitBeforeItIsSent) {
  std::atomic<int> asked = 0;
  const FakeServer server(with_infer([&](const std::string& request) {
    ++asked;
    return echo(remote::kModelInfer, request);
  }));
  const Model<> model(url_of({&server}), Options{.message_limit = 1000});
  resize(100);
  const ServiceError error = failure_of(model);
  EXPECT_EQ(error.code(), 8);
  EXPECT_THAT(error.what(), HasSubstr("expected at most 1000"));
  EXPECT_EQ(asked, 0);
}

TEST_F(RemoteEngine, WritesPrometheusText) {
  const FakeServer server(echo);
  const Model<> model(url_of({&server}));
  model.forward(queue_, model.plan(metadata()));
  const std::string text = remote::prometheus_text(remote::statistics());
  EXPECT_THAT(text, HasSubstr("# TYPE tensoa_remote_requests_total counter\n"));
  EXPECT_THAT(text, HasSubstr("tensoa_remote_requests_total{model=\"" + url_of({&server}) +
                              "\",server=\"" + server.address() + "\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("tensoa_remote_up{"));
  EXPECT_THAT(text, HasSubstr("quantile=\"0.999\""));
}

TEST_F(RemoteEngine, AddsUpWhatModelsOfOneUrlDid) {
  const FakeServer server(echo);
  const Model<> one(url_of({&server}));
  const Model<> other(url_of({&server}));
  one.forward(queue_, one.plan(metadata()));
  for (int call = 0; call < 2; ++call) other.forward(queue_, other.plan(metadata()));
  const std::string text = remote::prometheus_text(remote::statistics());
  const std::string sample = "tensoa_remote_requests_total{model=\"" + url_of({&server}) +
                             "\",server=\"" + server.address() + "\"} ";
  EXPECT_THAT(text, HasSubstr(sample + "3\n"));
  EXPECT_EQ(text.find(sample), text.rfind(sample));
}

}  // namespace
}  // namespace tensoa
