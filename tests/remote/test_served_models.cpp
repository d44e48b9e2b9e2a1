// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Servers of one URL whose models differ, change, or lie: the answers of calls are those of the model that was loaded, and no call is
// lost where something can answer it. The servers are in this process; test_updated_servers.cpp has real ones.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "calls.hpp"
#include "fake_server.hpp"
#include "support/function_loader.hpp"
#include "support/temporary_folder.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/package/inspect.hpp"
#include "tensoa/package/published.hpp"
#include "tensoa/remote/engines.hpp"
#include "tensoa/remote/options.hpp"
#include "tensoa/remote/service_error.hpp"
#include "tensoa/remote/statistics.hpp"
#include "tensoa/soa/portable_collection.hpp"
#include "warnings.hpp"

namespace tensoa {
namespace {

using namespace std::chrono_literals;
using remote::CallStatus;
using remote::OnNewVersion;
using remote::Options;
using remote::ServiceError;
using test::Event;
using test::FakeReply;
using test::FakeServer;
using test::Hits;
using test::Scores;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

/// Longer than anything takes: only a test that fails waits so long.
constexpr std::chrono::milliseconds kLong = 60s;
// Servers that differ are waited for so long; within it each answers, also where a sanitizer and other tests take the processor.
constexpr std::chrono::milliseconds kWhileLoaded = 5s;

/// A model file: outputs are inputs times `scale`.
struct File {
  float scale = 1;
  std::string datatype = "FP32";
  std::vector<std::string> columns{"x", "y", "z"};
  std::string version = "1";
  std::string output = "y";  ///< the name of its block
  RowDependence rows = {};

  std::string checksum() const {
    std::string text = std::to_string(static_cast<int>(scale)) + datatype.substr(2);
    for (const std::string& column : columns)
      text += column == "x" ? "a" : column == "y" ? "b" : "c";
    return text + std::string(64 - text.size(), '0');
  }

  std::string published() const {
    const auto block = [&](const std::string& name, const std::vector<std::string>& names) {
      BlockDescription one;
      one.name = name;
      one.dtype = datatype == "FP64" ? DType::kF64 : DType::kF32;
      one.element = {ColumnKind::kPlain, one.dtype, 1, 1};
      for (const std::string& column : names) {
        one.columns.push_back({column, static_cast<std::uint32_t>(one.columns.size())});
      }
      return one;
    };
    package::PublishedModel model{
        .checksum = checksum(), .named = package::NamedColumns::kAll, .model = {}};
    BindingDescription binding;
    binding.inputs.push_back(block("x", columns));
    binding.outputs.push_back(block(output, {"a", "b", "c"}));
    model.model.inputs.push_back(package::argument_of(binding.inputs[0], 0));
    model.model.outputs.push_back(package::argument_of(binding.outputs[0], 0));
    model.model.binding = binding;
    model.model.row_dependence = rows;
    return package::to_json(model);
  }
};

/// A server whose model may be exchanged at any time, as tensoa's back-end or Triton's Python back-end has it.
class Server {
 public:
  enum class Kind { kTensoa, kTensoaThatDoesNotDescribe, kPython };

  explicit Server(File file, Kind kind = Kind::kTensoa)
      : kind_(kind),
        file_(std::move(file)),
        server_([this](const auto& method, const auto& bytes) { return answer(method, bytes); }) {}
  ~Server() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    over_.notify_all();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const std::string& address() const { return server_.address(); }

  void set(File file) {
    const std::lock_guard lock(mutex_);
    file_ = std::move(file);
  }

  /// Computes with this one, and says that it has file().
  void lie(std::optional<File> computes) {
    const std::lock_guard lock(mutex_);
    computes_ = std::move(computes);
  }

  /// Of calls, not of probes; empty, or an answer of none: as usual.
  void answer_calls(std::function<std::optional<FakeReply>(const std::string&)> answer) {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
  }

  /// Runs whatever version it has, as servers without versions do. Of Kind::kPython.
  void ignore_versions() { ignores_versions_ = true; }

  /// Answers `answers` more questions which model it has, then none until the end of the test.
  void stall(int answers = 0) {
    const std::lock_guard lock(mutex_);
    answers_left_ = answers;
  }

  /// Requests of calls: those of more than one row.
  int calls() const { return calls_; }

  /// Those that were computed.
  int computed() const { return computed_; }

  FakeReply answer(const std::string& method, const std::string& request) {
    if (method == remote::kModelReady) return {.message = std::string("\x08\x01", 2)};
    std::unique_lock lock(mutex_);
    if (method == remote::kModelMetadata) {
      if (answers_left_ == 0) over_.wait(lock, [&] { return is_over_; });
      if (answers_left_ && *answers_left_ > 0) --*answers_left_;
      return metadata();
    }
    const test::SeenRequest seen = test::parse_request(request);
    const remote::WireTensor& input = seen.inputs.at(0);
    const bool is_call = input.sizes.at(kind_ == Kind::kPython ? 0 : 2) > 1;
    if (input.datatype != file_.datatype && !(is_call && answer_)) {
      calls_ += is_call ? 1 : 0;  // Triton compares it before the back-end sees the request
      return {.status = {3, "[request id: <id_unknown>] inference input 'x' data-type is '" +
                                input.datatype + "', but model 'net' expects '" + file_.datatype +
                                "'"}};
    }
    if (kind_ == Kind::kTensoa && test::has_parameter(request, "tensoa_describe")) {
      return {.message = remote::encode_parameter("tensoa_checksum", file_.checksum()) +
                         remote::encode_parameter("tensoa_model", file_.published())};
    }
    calls_ += is_call ? 1 : 0;
    if (is_call && answer_) {
      if (const std::optional<FakeReply> reply = answer_(request)) return *reply;
    }
    if (test::has_parameter(request, "tensoa_checksum") &&
        request.find(file_.checksum()) == std::string::npos) {
      return {.status = {3, "parameter tensoa_checksum: got another checksum"}};
    }
    const bool has_version = seen.version.empty() || seen.version == file_.version;
    if (kind_ == Kind::kPython && !has_version && !ignores_versions_) {
      return {.status = {5, "Request for unknown model: 'net' version " + seen.version}};
    }
    computed_ += is_call ? 1 : 0;
    const File& file = computes_ ? *computes_ : file_;
    std::string raw = seen.raw.at(0);
    std::vector<float> numbers(raw.size() / sizeof(float));
    if (!raw.empty()) {  // memcpy takes no null pointers
      std::memcpy(numbers.data(), raw.data(), raw.size());
      for (float& number : numbers) number *= file.scale;
      std::memcpy(raw.data(), numbers.data(), raw.size());
    }
    std::string message = test::infer_reply({{file.output, input.datatype, input.sizes}}, {raw});
    remote::protobuf::Encoder version;
    version.text(2, file.version);
    message += version.take();
    if (kind_ != Kind::kPython) {
      message += remote::encode_parameter("tensoa_checksum", file.checksum());
    }
    return {.message = message};
  }

 private:
  FakeReply metadata() const {
    const bool is_python = kind_ == Kind::kPython;
    const std::vector<std::int64_t> sizes =
        is_python ? std::vector<std::int64_t>{-1, 3} : std::vector<std::int64_t>{-1, 3, -1};
    remote::protobuf::Encoder version;
    version.text(2, file_.version);
    const std::string reply =
        test::metadata_reply("net", is_python ? "python" : "tensoa", {{"x", file_.datatype, sizes}},
                             {{file_.output, file_.datatype, sizes}});
    return {.message = file_.version == "1" ? reply : reply + version.take()};
  }

  Kind kind_;
  mutable std::mutex mutex_;
  File file_;
  std::optional<File> computes_;
  std::optional<int> answers_left_;  ///< of metadata; none: all
  std::function<std::optional<FakeReply>(const std::string&)> answer_;
  std::atomic<int> calls_ = 0;
  std::atomic<int> computed_ = 0;
  std::atomic<bool> ignores_versions_ = false;
  std::condition_variable over_;
  bool is_over_ = false;
  FakeServer server_;
};

/// An address that leads to several servers, as Envoy does: each request goes to one of them, by chance or in turn.
class Proxy {
 public:
  Proxy(std::vector<Server*> servers, bool is_in_turn)
      : servers_(std::move(servers)),
        is_in_turn_(is_in_turn),
        server_([this](const auto& method, const auto& bytes) {
          return next().answer(method, bytes);
        }) {}

  std::string url() const { return "grpc://" + server_.address() + "/net"; }

 private:
  Server& next() {
    const std::lock_guard lock(mutex_);
    return *servers_[(is_in_turn_ ? turn_++ : random_()) % servers_.size()];
  }

  std::vector<Server*> servers_;
  bool is_in_turn_;
  std::mutex mutex_;
  std::size_t turn_ = 0;
  std::mt19937 random_;
  FakeServer server_;
};

class ServedModels : public testing::Test, protected Event {
 protected:
  ServedModels() : Event(20) {}

  void SetUp() override { remote::register_engines(); }

  static std::string url_of(const std::vector<const Server*>& servers) {
    std::string url = "grpc://";
    for (const Server* server : servers) url += (url.back() == '/' ? "" : ",") + server->address();
    return url + "/net";
  }

  void reset() {
    for (std::size_t i = 0; i < hits.size(); ++i) {
      hits.view().x[i] = static_cast<float>(i + 1);
      hits.view().y[i] = static_cast<float>(i + 2);
      hits.view().z[i] = -static_cast<float>(i + 1);
    }
    clear();
  }

  /// By what the outputs are the inputs; 0: they are not such, or have not been written.
  float scale() const {
    const float scale = scores.const_view().a[0] / hits.const_view().x[0];
    return is_multiplied_by(scale) ? scale : 0;
  }

  /// One call. @return what it made of the columns
  float call(const Model<>& model, const Plan<Hits, Scores>& plan) {
    reset();
    model.forward(queue_, plan);
    return scale();
  }

  ServiceError failure_of(const Model<>& model, const Plan<Hits, Scores>& plan) {
    reset();
    const ServiceError error = test::failure_of([&] { model.forward(queue_, plan); });
    EXPECT_TRUE(is_untouched());
    return error;
  }

  /// Calls until one is answered, by kOld, which a server has again, or by another. @return whether one is
  bool is_answered_later(const Model<>& model, const Plan<Hits, Scores>& plan, float scale = 2) {
    const auto end = std::chrono::steady_clock::now() + kLong;
    while (std::chrono::steady_clock::now() < end) {
      try {
        return call(model, plan) == scale;
      } catch (const Error&) {
        std::this_thread::sleep_for(20ms);
      }
    }
    return false;
  }

  /// Calls until `is_there`. @return whether it is
  bool waits_for(const Model<>& model, const Plan<Hits, Scores>& plan,
                 const std::function<bool()>& is_there) {
    const auto end = std::chrono::steady_clock::now() + kLong;
    while (!is_there()) {
      if (std::chrono::steady_clock::now() > end) return false;
      call(model, plan);
      std::this_thread::sleep_for(5ms);
    }
    return true;
  }

  Queue queue_{Device::cpu()};
};

const File kOld{.scale = 2};
const File kNew{.scale = 3};

TEST_F(ServedModels, ThatDifferAtLoadAreRefusedWithWhatEachServerHas) {
  const Server a(kOld);
  const Server b(kOld);
  const Server c(kNew);
  const Model<> model(url_of({&a, &b, &c}), Options{.load_deadline = kWhileLoaded});
  EXPECT_THAT([&] { model.deploy(Device::cpu()); },
              ThrowsMessage<ServiceError>(AllOf(
                  HasSubstr("do not have one model"), HasSubstr(a.address() + " has the file "),
                  HasSubstr(kOld.checksum().substr(0, 12)),
                  HasSubstr(c.address() + " has the file " + kNew.checksum().substr(0, 12)))));
}

TEST_F(ServedModels, ThatDifferAreNamedAlsoWhereTheLastQuestionHasNoAnswer) {
  Server a(kOld);
  Server b(kNew);
  a.stall(1);
  b.stall(1);
  const Model<> model(url_of({&a, &b}), Options{.load_deadline = kWhileLoaded});
  EXPECT_THAT([&] { model.deploy(Device::cpu()); },
              ThrowsMessage<ServiceError>(AllOf(HasSubstr("do not have one model"),
                                                HasSubstr(a.address() + " has the file "),
                                                HasSubstr(b.address() + " has the file "))));
}

TEST_F(ServedModels, OfOtherBackEndsAreComparedByWhatTheySay) {
  using Kind = Server::Kind;
  const Server a(kOld, Kind::kPython);
  for (const File& other : {File{.datatype = "FP64"}, File{.version = "2"}}) {
    const Server b(other, Kind::kPython);
    const Model<> model(url_of({&a, &b}), Options{.load_deadline = kWhileLoaded});
    EXPECT_THAT([&] { model.deploy(Device::cpu()); },
                ThrowsMessage<ServiceError>(HasSubstr("a model of unknown file, platform python")));
  }
}

TEST_F(ServedModels, ThatAreWaitedForMayAgreeLater) {
  Server a(kOld);
  Server b(kNew);
  std::thread update([&] {
    std::this_thread::sleep_for(300ms);
    a.set(kNew);
  });
  const Model<> model(url_of({&a, &b}), Options{.load_deadline = kLong});
  EXPECT_EQ(call(model, model.plan(metadata())), 3);
  update.join();
}

TEST_F(ServedModels, AnswerOnlyWhereTheyHaveTheChecksumThatIsExpected) {
  const Server a(kNew);
  const Server b(kOld);
  const Server c(kNew);
  const test::Warnings warnings;
  const Model<> model(url_of({&a, &b, &c}), Options{.checksum = kOld.checksum()});
  const auto plan = model.plan(metadata());
  for (int i = 0; i < 50; ++i) ASSERT_EQ(call(model, plan), 2);
  EXPECT_EQ(a.calls() + c.calls(), 0);
  EXPECT_THAT(warnings.text(), AllOf(HasSubstr("server " + a.address() + " has the file"),
                                     HasSubstr("gets no calls")));
  const Model<> nowhere(url_of({&a, &c}), Options{.checksum = kOld.checksum()});
  EXPECT_THAT([&] { nowhere.deploy(Device::cpu()); },
              ThrowsMessage<ServiceError>(
                  AllOf(HasSubstr(kOld.checksum()), HasSubstr(kNew.checksum().substr(0, 12)))));
}

TEST_F(ServedModels, AChecksumThatNoServerCanConfirmIsNotTaken) {
  const Server python(kOld, Server::Kind::kPython);
  const Model<> model(url_of({&python}), Options{.checksum = kOld.checksum()});
  EXPECT_THAT([&] { model.deploy(Device::cpu()); },
              ThrowsMessage<ServiceError>(HasSubstr("a model of unknown file")));
}

/// An update, server by server: the calls of one plan go to those that have the model still.
TEST_F(ServedModels, ThatAreUpdatedOneAfterAnotherLoseNoCall) {
  for (const File& next :
       {kNew, File{.scale = 3, .datatype = "FP64"}, File{.scale = 3, .columns = {"z", "y", "x"}}}) {
    Server a(kOld);
    Server b(kOld);
    Server c(kOld);
    const Model<> model(url_of({&a, &b, &c}));
    const auto plan = model.plan(metadata());
    for (Server* const updated : {&a, &b}) {
      updated->set(next);
      for (int i = 0; i < 30; ++i) ASSERT_EQ(call(model, plan), 2) << next.checksum();
    }
    const int before = a.calls();
    for (int i = 0; i < 30; ++i) ASSERT_EQ(call(model, plan), 2);
    EXPECT_EQ(a.calls(), before) << "it is known that it has another model";
    a.set(kOld);  // and back
    c.set(next);
    for (int i = 0; i < 30; ++i) {
      ASSERT_NO_THROW(waits_for(model, plan, [&] { return a.calls() > before; }));
      ASSERT_EQ(call(model, plan), 2);
    }
  }
}

/// The same behind one address: each call goes on until a server that has the model gets it.
TEST_F(ServedModels, BehindOneAddressThatAreUpdatedOneAfterAnotherLoseNoCall) {
  for (const File& next : {kNew, File{.scale = 3, .datatype = "FP64"}}) {
    for (const bool is_in_turn : {false, true}) {
      SCOPED_TRACE(next.checksum() + (is_in_turn ? " in turn" : " by chance"));
      Server a(kOld);
      Server b(kOld);
      Server c(kOld);
      const Proxy proxy({&a, &b, &c}, is_in_turn);
      const test::Warnings warnings;
      const Model<> model(proxy.url());
      const auto plan = model.plan(metadata());
      for (Server* const updated : {&a, &b}) {
        updated->set(next);
        for (int i = 0; i < 20; ++i) ASSERT_EQ(call(model, plan), 2);
      }
      EXPECT_LE(std::ranges::count(warnings.text(), '\n'), 4) << warnings.text();
      c.set(next);
      EXPECT_EQ(failure_of(model, plan).code(), 9);
      a.set(kOld);
      EXPECT_TRUE(is_answered_later(model, plan));
    }
  }
}

TEST_F(ServedModels, BehindOneAddressAreFollowedWhenAllAreNew) {
  Server a(kOld);
  Server b(kOld);
  const Proxy proxy({&a, &b}, false);
  const Model<> model(proxy.url(), Options{.on_new_version = OnNewVersion::kFollow});
  const auto plan = model.plan(metadata());
  a.set(kNew);
  for (int i = 0; i < 30; ++i) ASSERT_EQ(call(model, plan), 2) << "one has it still";
  b.set(kNew);
  for (int i = 0; i < 30; ++i) ASSERT_EQ(call(model, plan), 3);
}

TEST_F(ServedModels, OfOtherBackEndsBehindOneAddressLoseNoCall) {
  using Kind = Server::Kind;
  for (const bool are_versions_ignored : {false, true}) {
    SCOPED_TRACE(are_versions_ignored);
    Server a(kOld, Kind::kPython);
    Server b(kOld, Kind::kPython);
    if (are_versions_ignored) b.ignore_versions();
    const Proxy proxy({&a, &b}, false);
    const Model<> model(proxy.url());
    const auto plan = model.plan(metadata());
    b.set({.scale = 3, .version = "2"});
    for (int i = 0; i < 30; ++i) ASSERT_EQ(call(model, plan), 2);
  }
}

TEST_F(ServedModels, OfAnEarlierBackEndAreComparedByTheirAnswers) {
  using Kind = Server::Kind;
  Server a(kOld, Kind::kTensoaThatDoesNotDescribe);
  Server b(kOld, Kind::kTensoaThatDoesNotDescribe);
  const Model<> model(url_of({&a, &b}));
  const auto plan = model.plan(metadata());
  b.set(kNew);
  for (int i = 0; i < 30; ++i) ASSERT_EQ(call(model, plan), 2);
  const Server other(kNew, Kind::kTensoaThatDoesNotDescribe);
  const Model<> differs(url_of({&a, &other}), Options{.load_deadline = kWhileLoaded});
  EXPECT_THROW(differs.deploy(Device::cpu()), ServiceError);
}

TEST_F(ServedModels, ThatAreAllNewEndTheCallsOfAPlanThatStays) {
  for (const OnNewVersion policy : {OnNewVersion::kStay, OnNewVersion::kFail}) {
    Server a(kOld);
    Server b(kOld);
    const Model<> model(url_of({&a, &b}), Options{.on_new_version = policy});
    const auto plan = model.plan(metadata());
    EXPECT_EQ(call(model, plan), 2);
    a.set(kNew);
    b.set(kNew);
    const ServiceError error = failure_of(model, plan);
    EXPECT_EQ(error.code(), 9);
    EXPECT_TRUE(error.may_retry());
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("no server has the model that was loaded"),
                      HasSubstr(b.address() + " has the file"), HasSubstr("on_new_version")));
    b.set(kOld);
    EXPECT_TRUE(is_answered_later(model, plan));
  }
}

TEST_F(ServedModels, ThatAreAllNewAreFollowedWhereThePlanFits) {
  Server a(kOld);
  Server b(kOld);
  const test::Warnings warnings;
  const Model<> model(url_of({&a, &b}), Options{.on_new_version = OnNewVersion::kFollow});
  const auto plan = model.plan(metadata());
  EXPECT_EQ(call(model, plan), 2);
  a.set(kNew);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(call(model, plan), 2) << "some have it still";
  b.set(kNew);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(call(model, plan), 3);
  EXPECT_THAT(warnings.text(),
              HasSubstr("calls go on with the file " + kNew.checksum().substr(0, 12)));
  EXPECT_EQ(call(model, model.plan(metadata())), 3);
}

TEST_F(ServedModels, ThatAreAllNewAreNotFollowedToOtherColumns) {
  for (const auto& [next, why] : std::vector<std::pair<File, const char*>>{
           {{.scale = 3, .columns = {"z", "y", "x"}}, "column 0 is x, expected z"},
           {{.scale = 3, .datatype = "FP64"}, "is FP32, the server's \"x\" is FP64"}}) {
    Server a(kOld);
    const Model<> model(url_of({&a}), Options{.on_new_version = OnNewVersion::kFollow});
    const auto plan = model.plan(metadata());
    a.set(next);
    reset();
    EXPECT_THAT([&] { model.forward(queue_, plan); }, ThrowsMessage<BindingError>(HasSubstr(why)));
    EXPECT_TRUE(is_untouched());
    a.set(kOld);
    EXPECT_TRUE(is_answered_later(model, plan));
  }
}

/// The caller may have cut the rows of the model before.
TEST_F(ServedModels, ThatAreAllNewAreNotFollowedToRowsThatDependOnEachOther) {
  using Answer = RowDependence::Answer;
  const File independent{.scale = 2, .rows = {Answer::kIndependent, ""}};
  const File dependent{.scale = 3, .rows = {Answer::kDependent, "sorts them"}};
  Server a(independent);
  const Model<> model(url_of({&a}), Options{.on_new_version = OnNewVersion::kFollow});
  const auto plan = model.plan(metadata());
  a.set(dependent);
  reset();
  EXPECT_THAT([&] { model.forward(queue_, plan); },
              ThrowsMessage<BindingError>(HasSubstr("sorts them")));
  EXPECT_TRUE(is_untouched());
  a.set({.scale = 5, .rows = {Answer::kIndependent, ""}});
  EXPECT_TRUE(is_answered_later(model, plan, 5));
}

TEST_F(ServedModels, ThatDisagreeAreNotFollowed) {
  Server a(kOld);
  Server b(kOld);
  const Model<> model(url_of({&a, &b}), Options{.on_new_version = OnNewVersion::kFollow});
  const auto plan = model.plan(metadata());
  a.set(kNew);
  b.set({.scale = 5});
  EXPECT_EQ(failure_of(model, plan).code(), 9);
}

TEST_F(ServedModels, ColumnsInAnotherOrderAreRefusedAsHere) {
  const Server server(kOld);
  const Model<> model(url_of({&server}));
  reset();
  auto in = hits.view().records();
  auto out = scores.view().records();
  const auto expect_refused = [&](const auto& bind_inputs, const auto& bind_outputs,
                                  const std::string& why) {
    SoAMetadata<Hits> inputs(hits.size());
    bind_inputs(inputs);
    SoAMetadata<Scores> outputs(scores.size());
    bind_outputs(outputs);
    EXPECT_THAT([&] { model.plan(ModelMetadata(inputs, outputs)); },
                ThrowsMessage<BindingError>(
                    AllOf(HasSubstr("was made for other columns"), HasSubstr(why))));
  };
  const auto right_in = [&](auto& to) { to.append_block("x", in.x(), in.y(), in.z()); };
  const auto right_out = [&](auto& to) { to.append_block("y", out.a(), out.b(), out.c()); };
  expect_refused([&](auto& to) { to.append_block(Repack{}, "x", in.z(), in.x(), in.y()); },
                 right_out, "column 0 is z, expected x");
  expect_refused(
      right_in, [&](auto& to) { to.append_block(Repack{}, "y", out.b(), out.a(), out.c()); },
      "column 0 is b, expected a");
}

/// KServe names inputs and outputs apart.
TEST_F(ServedModels, MayNameAnOutputLikeAnInput) {
  const Server server({.scale = 2, .output = "x"});
  const Model<> model(url_of({&server}));
  EXPECT_EQ(call(model, model.plan(metadata("x"))), 2);
}

TEST_F(ServedModels, SayWhetherTheirRowsDependOnEachOther) {
  using Answer = RowDependence::Answer;
  for (const RowDependence& rows :
       {RowDependence{Answer::kIndependent, ""}, RowDependence{Answer::kDependent, "sorts"}}) {
    const Server server({.scale = 2, .rows = rows});
    const Model<> model(url_of({&server}));
    const RowDependence got = model.row_dependence(model.plan(metadata()));
    EXPECT_EQ(got.answer, rows.answer);
    EXPECT_EQ(got.reason, rows.reason);
  }
  const Server python(kOld, Server::Kind::kPython);
  const Model<> unknown(url_of({&python}));
  const RowDependence got = unknown.row_dependence(unknown.plan(metadata()));
  EXPECT_EQ(got.answer, Answer::kUnknown);
  EXPECT_THAT(got.reason, HasSubstr("servers do not state"));
}

TEST_F(ServedModels, AreDescribedWithTheirColumnsAndTheirFile) {
  const Server server(kOld);
  const package::ModelDescription model = package::inspect(ModelLocation(url_of({&server})));
  EXPECT_EQ(model.checksum, kOld.checksum());
  EXPECT_TRUE(model.is_served);
  ASSERT_TRUE(model.binding.has_value());
  EXPECT_EQ(model.binding->inputs.at(0).columns.at(2).name, "z");
  EXPECT_EQ(model.outputs.at(0).block->columns.at(1).name, "b");
  EXPECT_EQ(model.inputs.at(0).type, "float32[n0, 3]");
  const Server python(kOld, Server::Kind::kPython);
  const package::ModelDescription unknown = package::inspect(ModelLocation(url_of({&python})));
  EXPECT_EQ(unknown.checksum, "");
  EXPECT_EQ(unknown.inputs.at(0).block->columns.at(2).name, "x.2");
}

TEST_F(ServedModels, AServerThatLiesIsCaughtByItsFirstAnswer) {
  Server honest(kOld);
  Server liar(kOld);
  liar.lie(kNew);
  const test::Warnings warnings;
  const Model<> model(url_of({&liar, &honest}));
  const auto plan = model.plan(metadata());
  for (int i = 0; i < 200; ++i) ASSERT_EQ(call(model, plan), 2);
  EXPECT_LE(liar.calls(), 2) << "probes see it too";
  EXPECT_THAT(warnings.text(),
              AllOf(HasSubstr(liar.address() + ": sent an answer of the file"),
                    HasSubstr(", expected the file " + kOld.checksum().substr(0, 12))));
}

TEST_F(ServedModels, AServerThatLiesIsTheReasonAlsoWhereTheDeadlineEndsTheLastAttempt) {
  Server liar(kOld);
  liar.lie(kNew);
  std::atomic<int> calls = 0;
  liar.answer_calls([&](const std::string&) -> std::optional<FakeReply> {
    if (calls++ > 0) std::this_thread::sleep_for(1s);
    return std::nullopt;
  });
  const Model<> model(url_of({&liar}), Options{.deadline = 500ms, .retry = {.attempts = 1}});
  const ServiceError error = failure_of(model, model.plan(metadata()));
  EXPECT_EQ(error.code(), 13);
  EXPECT_THAT(error.what(), HasSubstr("sent an answer of the file"));
  EXPECT_GT(calls, 1);
}

TEST_F(ServedModels, OfOtherBackEndsAreComparedByTheVersionOfTheirAnswers) {
  Server a(kOld, Server::Kind::kPython);
  Server b(kOld, Server::Kind::kPython);
  const Model<> model(url_of({&a, &b}));
  SoAMetadata<Hits> inputs(hits.size());
  const auto plan = model.plan(metadata());
  b.set({.scale = 3, .version = "2"});
  for (int i = 0; i < 30; ++i) ASSERT_EQ(call(model, plan), 2);
}

/// So that nothing is written to shared memory that is of another version.
TEST_F(ServedModels, OfOtherBackEndsComputeNoOtherVersionThanTheirModelHad) {
  Server server(kOld, Server::Kind::kPython);
  const Model<> model(url_of({&server}));
  const auto plan = model.plan(metadata());
  EXPECT_EQ(call(model, plan), 2);
  const int computed = server.computed();
  server.set({.scale = 3, .version = "2"});
  EXPECT_EQ(failure_of(model, plan).code(), 9);
  EXPECT_EQ(server.computed(), computed);
  // One that had several runs the highest.
  Server several({.scale = 2, .version = "10"}, Server::Kind::kPython);
  const Model<> highest(url_of({&several}));
  const auto other = highest.plan(metadata());
  EXPECT_EQ(call(highest, other), 2);
  several.set({.scale = 3, .version = "11"});
  EXPECT_EQ(failure_of(highest, other).code(), 9);
}

/// Whatever a server answers, calls go on elsewhere, and it draws no load because it answers fast.
TEST_F(ServedModels, AServerThatFailsFastGetsFewCallsAndLosesNone) {
  const std::vector<std::pair<const char*, FakeReply>> answers{
      {"refuses", {.status = {3, "no"}}},
      {"is not found", {.status = {5, "unknown model"}}},
      {"is forbidden", {.status = {7, "no"}}},
      {"is full", {.status = {8, "Exceeds maximum queue size"}}},
      {"is not implemented", {.status = {12, "no"}}},
      {"fails", {.status = {13, "the model fails"}}},
      {"is gone", {.status = {14, "gone"}}},
      {"needs a token", {.status = {16, "expired"}}},
      {"cannot be read", {.message = "\x0A\x7F"}},
      {"is empty", {}}};
  for (const auto& [name, answer] : answers) {
    SCOPED_TRACE(name);
    Server a(kOld);
    Server fails(kOld);
    Server c(kOld);
    fails.answer_calls([reply = answer](const std::string&) { return reply; });
    const Model<> model(url_of({&a, &fails, &c}));
    const auto plan = model.plan(metadata());
    constexpr int kCalls = 400;
    for (int i = 0; i < kCalls; ++i) ASSERT_EQ(call(model, plan), 2);
    EXPECT_LE(fails.calls(), kCalls / 20);
  }
}

TEST_F(ServedModels, AWrongRequestIsRefusedOnceByEachServerAndTwiceByOne) {
  Server alone(kOld);
  alone.answer_calls([](const std::string&) { return FakeReply{.status = {3, "not these"}}; });
  const Model<> one(url_of({&alone}));
  EXPECT_THAT(failure_of(one, one.plan(metadata())).what(), HasSubstr("not these"));
  EXPECT_EQ(alone.calls(), 2);
  std::vector<std::unique_ptr<Server>> servers;
  for (int i = 0; i < 3; ++i) {
    servers.push_back(std::make_unique<Server>(kOld));
    servers.back()->answer_calls([](const std::string&) {
      return FakeReply{.status = {3, "the network does not take such numbers"}};
    });
  }
  const Model<> model(url_of({servers[0].get(), servers[1].get(), servers[2].get()}));
  const auto plan = model.plan(metadata());
  const ServiceError error = failure_of(model, plan);
  EXPECT_EQ(error.code(), 3);
  EXPECT_FALSE(error.may_retry());
  EXPECT_THAT(error.what(), HasSubstr("does not take such numbers"));
  for (const auto& server : servers) EXPECT_EQ(server->calls(), 1);
  servers[1]->answer_calls({});
  EXPECT_EQ(call(model, plan), 2) << "another call is not affected";
}

/// A server that refuses a call has the model: servers that have another say nothing about it.
TEST_F(ServedModels, AWrongRequestIsWrongWhateverOtherServersHave) {
  for (const OnNewVersion policy :
       {OnNewVersion::kStay, OnNewVersion::kFail, OnNewVersion::kFollow}) {
    SCOPED_TRACE(static_cast<int>(policy));
    Server old(kOld);
    Server updated(kOld);
    const Model<> model(url_of({&old, &updated}), Options{.on_new_version = policy});
    const auto plan = model.plan(metadata());
    updated.set(kNew);
    for (int i = 0; i < 10; ++i) ASSERT_EQ(call(model, plan), 2);
    old.answer_calls([](const std::string&) {
      return FakeReply{.status = {3, "the network does not take such numbers"}};
    });
    const ServiceError error = failure_of(model, plan);
    EXPECT_EQ(error.code(), 3);
    EXPECT_THAT(error.what(), HasSubstr("does not take such numbers"));
    old.answer_calls({});
    EXPECT_EQ(call(model, plan), 2) << "the calls of the process stay with the model";
  }
}

/// Triton 2.51 said of whole tensors that they lack a byte after it had been stopped and went on (SIGSTOP, SIGCONT).
TEST_F(ServedModels, ASingleRefusalOfTheOnlyServerIsNotBelieved) {
  Server server(kOld);
  const Model<> model(url_of({&server}));
  const auto plan = model.plan(metadata());
  ASSERT_EQ(call(model, plan), 2);
  std::atomic<int> calls = 0;
  server.answer_calls([&](const std::string&) {
    return ++calls == 1 ? std::optional(FakeReply{.status = {3, "got 767 bytes"}}) : std::nullopt;
  });
  EXPECT_EQ(call(model, plan), 2);
  calls = 0;
  server.answer_calls([&](const std::string&) {
    return FakeReply{.status = {++calls == 1 ? 3 : 13, "another reason"}};
  });
  EXPECT_EQ(failure_of(model, plan).code(), 13);
  EXPECT_EQ(calls, 2);
}

/// The deadline ends a call, also where a server is asked that does not answer.
TEST_F(ServedModels, AServerThatDoesNotSayWhatItHasKeepsNoCallBeyondItsDeadline) {
  Server old(kOld);
  Server stalled(kOld);
  const Model<> model(url_of({&old, &stalled}), Options{.deadline = 300ms});
  const auto plan = model.plan(metadata());
  stalled.set(kNew);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(call(model, plan), 2);
  stalled.stall();
  old.set({.scale = 5});
  const auto start = std::chrono::steady_clock::now();
  failure_of(model, plan);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 1300ms);
}

TEST_F(ServedModels, ControlCharactersOfServersReachNoMessage) {
  Server server(kOld);
  server.answer_calls([](const std::string&) {
    return FakeReply{.status = {12, "\x1b[2J\x1b]0;title\x07\nnext"}};
  });
  const Model<> model(url_of({&server}));
  const ServiceError error = failure_of(model, model.plan(metadata()));
  EXPECT_THAT(error.what(), AllOf(HasSubstr("\\x1b[2J\\x1b]0;title\\x07\\nnext"),
                                  Not(HasSubstr("\x1b")), Not(HasSubstr("\n"))));
}

TEST_F(ServedModels, AChecksumThatNoneCanBeIsRefused) {
  for (const std::string& checksum : {kOld.checksum().substr(1), std::string(64, 'A')}) {
    EXPECT_THAT(
        [&] { Model<>("grpc://a:1/m", Options{.checksum = checksum}).deploy(Device::cpu()); },
        ThrowsMessage<LoadError>(
            AllOf(HasSubstr(checksum), HasSubstr("expected 64 hexadecimal digits"))));
  }
}

TEST_F(ServedModels, OptionsThatContradictThemselvesAreRefused) {
  EXPECT_THAT(
      [] {
        Model<>("grpc://a:1/m",
                Options{.checksum = kOld.checksum(), .on_new_version = OnNewVersion::kFollow})
            .deploy(Device::cpu());
      },
      ThrowsMessage<LoadError>(
          HasSubstr("is to follow new versions (remote::Options::on_new_version) and got a "
                    "checksum")));
}

/// Writes the inputs times 7 to the outputs.
class Seven final : public Engine {
 public:
  const Signature& signature() const noexcept override { return signature_; }
  CopyReport run(const Queue&, const Binding& binding, const Prepared&) const override {
    const TensorView& in = binding.inputs[0].tensor;
    const TensorView& out = binding.outputs[0].tensor;
    for (std::int64_t row = 0; row < out.size_of_dim[0]; ++row) {
      for (std::int64_t column = 0; column < out.size_of_dim[1]; ++column) {
        static_cast<float*>(out.data)[row + column * out.stride_of_dim[1]] =
            7 * static_cast<const float*>(in.data)[row + column * in.stride_of_dim[1]];
      }
    }
    return {};
  }

 private:
  Signature signature_{.inputs = {{.name = "x"}}, .required_inputs = 1};
};

class ServedModelsWithFallback : public ServedModels {
 protected:
  void SetUp() override {
    ServedModels::SetUp();
    test::register_engine_of<Seven>("Seven", ".seven");
    std::ofstream(folder_.path() / "model.seven") << "seven";
    options_.fallback = folder_.path() / "model.seven";
    options_.retry = {.attempts = 3, .first_pause = 1ms};
  }

  test::TemporaryFolder folder_;
  Options options_;
};

TEST_F(ServedModelsWithFallback, AFallbackRunsWhereAllServersAreNew) {
  Server a(kOld);
  Server b(kOld);
  const Model<> model(url_of({&a, &b}), options_);
  const auto plan = model.plan(metadata());
  EXPECT_EQ(call(model, plan), 2);
  a.set(kNew);
  EXPECT_EQ(call(model, plan), 2);
  b.set(kNew);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(call(model, plan), 7);
  options_.on_new_version = OnNewVersion::kFail;
  const Model<> fails(url_of({&a, &b}), options_);
  const auto other = fails.plan(metadata());
  EXPECT_EQ(call(fails, other), 3);
  a.set(kOld);
  b.set(kOld);
  EXPECT_EQ(failure_of(fails, other).code(), 9);
}

TEST_F(ServedModelsWithFallback, AServerThatRefusesACallIsNotReplaced) {
  for (const OnNewVersion policy : {OnNewVersion::kFail, OnNewVersion::kFollow}) {
    Server old(kOld);
    Server updated(kOld);
    options_.on_new_version = policy;
    const Model<> model(url_of({&old, &updated}), options_);
    const auto plan = model.plan(metadata());
    updated.set(kNew);
    for (int i = 0; i < 10; ++i) ASSERT_EQ(call(model, plan), 2);
    old.answer_calls([](const std::string&) { return FakeReply{.status = {13, "out of memory"}}; });
    EXPECT_EQ(call(model, plan), 7) << "the fallback";
    old.answer_calls({});
    EXPECT_EQ(call(model, plan), 2);
  }
}

TEST_F(ServedModelsWithFallback, AFallbackRunsWhereNoServerOfAnAddressTakesTheCall) {
  Server a(kOld);
  Server b(kOld);
  const Proxy proxy({&a, &b}, false);
  options_.deadline = 300ms;
  const Model<> model(proxy.url(), options_);
  const auto plan = model.plan(metadata());
  for (Server* const server : {&a, &b}) {
    server->answer_calls([](const std::string&) {
      return FakeReply{.status = {3, "parameter tensoa_checksum: got another checksum"}};
    });
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(call(model, plan), 7);
}

TEST_F(ServedModelsWithFallback, AFallbackDoesNotRunForAModelThatWasFollowed) {
  Server a(kOld);
  options_.on_new_version = OnNewVersion::kFollow;
  const Model<> model(url_of({&a}), options_);
  const auto plan = model.plan(metadata());
  a.answer_calls([](const std::string&) { return FakeReply{.status = {14, "gone"}}; });
  EXPECT_EQ(call(model, plan), 7);
  a.answer_calls({});
  a.set(kNew);
  EXPECT_EQ(call(model, plan), 3);
  a.answer_calls([](const std::string&) { return FakeReply{.status = {14, "gone"}}; });
  EXPECT_EQ(failure_of(model, plan).code(), 14) << "it is another model";
}

TEST_F(ServedModelsWithFallback, AFallbackRunsUntilServersAgree) {
  Server a(kOld);
  Server b(kNew);
  options_.load_deadline = 300ms;
  const Model<> model(url_of({&a, &b}), options_);
  const auto plan = model.plan(metadata());
  for (int i = 0; i < 20; ++i) ASSERT_EQ(call(model, plan), 7);
  a.set(kNew);
  EXPECT_TRUE(waits_for(model, plan, [&] { return scale() == 3; }));
}

TEST_F(ServedModelsWithFallback, AFallbackRunsWhereAnAnswerIsOfAnotherFile) {
  Server liar(kOld);
  liar.lie(kNew);
  options_.deadline = 500ms;
  const Model<> model(url_of({&liar}), options_);
  EXPECT_EQ(call(model, model.plan(metadata())), 7);
}

TEST_F(ServedModelsWithFallback, AFallbackRunsWhereOneRefusesAndTheOthersAreGone) {
  Server refuses(kOld);
  Server gone(kOld);
  refuses.answer_calls([](const std::string&) { return FakeReply{.status = {3, "no"}}; });
  gone.answer_calls([](const std::string&) { return FakeReply{.status = {14, "gone"}}; });
  const Model<> model(url_of({&refuses, &gone}), options_);
  const auto plan = model.plan(metadata());
  EXPECT_EQ(call(model, plan), 7);
  gone.answer_calls([](const std::string&) { return FakeReply{.status = {3, "no"}}; });
  EXPECT_EQ(failure_of(model, plan).code(), 3) << "the request is wrong";
}

}  // namespace
}  // namespace tensoa
