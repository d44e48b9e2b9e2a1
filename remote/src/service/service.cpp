// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "service/service.hpp"

#include <algorithm>
#include <condition_variable>
#include <future>
#include <thread>
#include <utility>

#include "kserve/datatypes.hpp"
#include "service/option_names.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/log.hpp"
#include "tensoa/core/printable.hpp"
#include "tensoa/package/sha256.hpp"
#include "transport/header_text.hpp"

namespace tensoa::remote {
namespace {

/// How long a probe may take: a server that is slower is not one to send events to.
constexpr Clock::duration kProbeDeadline = std::chrono::seconds(2);
/// Between attempts to get the metadata of a model.
constexpr Clock::duration kLoadPause = std::chrono::milliseconds(100);
/// Between two rounds of questions to servers that do not have the model.
constexpr Clock::duration kRoundPause = std::chrono::milliseconds(40);
/// How long loading waits for other servers when one has answered.
constexpr Clock::duration kLoadGrace = std::chrono::seconds(1);
/// The largest request of zeros that a probe sends.
constexpr std::size_t kMostProbeBytes = std::size_t{1} << 20;

/// Times that mean "for ever", but can be added to others.
Options bounded(Options options) {
  using std::chrono::milliseconds;
  constexpr milliseconds kYear = std::chrono::hours(365 * 24);
  constexpr milliseconds kHour = std::chrono::hours(1);
  for (milliseconds* const time : {&options.deadline, &options.attempt_deadline,
                                   &options.load_deadline, &options.lookup_period}) {
    *time = std::min(*time, kYear);
  }
  for (milliseconds* const pause : {&options.retry.first_pause, &options.retry.longest_pause}) {
    *pause = std::min(*pause, kHour);
  }
  return options;
}

Credentials credentials_of(const Options& options, const ServiceUrl& url) {
  return {.is_encrypted = url.is_encrypted,
          .ca_file = options.ca_file,
          .certificate_file = options.certificate_file,
          .key_file = options.key_file,
          .token_file = options.token_file,
          .headers = options.headers};
}

/// Calls of an attempt that is over wait for a server that takes no more bytes, so no longer than for an answer; but no
/// connection ends because a network paused for a moment.
ConnectionLimits limits_of(const Options& options) {
  using std::chrono::milliseconds;
  return {.message_limit = options.message_limit,
          .patience = std::clamp<milliseconds>(options.attempt_deadline, milliseconds(1000),
                                               milliseconds(10'000))};
}

void require_usable(const Options& options, const ServiceUrl& url, const std::string& subject) {
  const auto refuse = [&](const std::string& what) { throw LoadError(subject + what); };
  if (options.deadline.count() <= 0 || options.attempt_deadline.count() <= 0) {
    refuse("got a deadline of 0, expected a time in which a server can answer");
  }
  if (options.lookup_period.count() < 0) {
    refuse("got a lookup_period below 0, expected a time, or 0: names are looked up once");
  }
  if (options.retry.attempts < 1) {
    refuse("got less than one attempt" + with_option(" (", "retry.attempts", ")") +
           ", expected 1 or more");
  }
  if (options.on_new_version == OnNewVersion::kFollow && !options.checksum.empty()) {
    refuse("is to follow new versions" + with_option(" (", "on_new_version", ")") +
           " and got a checksum" + with_option(" (", "checksum", ")") +
           ", which no new version has; expected one of the two");
  }
  if (!options.checksum.empty() && !package::is_checksum(options.checksum)) {
    refuse("got the checksum " + printable(options.checksum) +
           ", expected 64 hexadecimal digits, as `sha256sum FILE` prints them");
  }
  if (options.certificate_file.empty() != options.key_file.empty()) {
    refuse("got a client certificate or its key; expected both, or none");
  }
  const bool has_tls = !options.ca_file.empty() || !options.certificate_file.empty();
  if (has_tls && !url.is_encrypted) {
    refuse("got certificates for grpc://, which is not encrypted; use grpcs://");
  }
  for (const auto& [name, value] : options.headers) {
    if (!is_header_name(name)) {
      refuse("got a header" + with_option(" (", "headers", ")") + " of the name \"" +
             printable(name) +
             "\", expected small letters, digits, '-', '_' and '.', and neither grpc-… nor …-bin, "
             "which are gRPC's own");
    }
    if (!is_header_value(value)) {
      refuse("the value of the header" + with_option(" (", "headers", ")") + " \"" + name + "\"" +
             " has characters beyond a line of ASCII; expected letters, digits, spaces and signs");
    }
  }
  if (!options.token_file.empty() && !url.is_encrypted) {
    refuse("would send a token over grpc://, which is not encrypted; use grpcs://");
  }
}

/// A request of zeros, of `rows` where sizes vary (the first one: 1); none where a type is not one of ours.
/// @param parameters of encode_parameter()
std::shared_ptr<const Payload> zeros_for(const ModelMetadataReply& metadata,
                                         std::string_view version, std::string_view parameters,
                                         std::int64_t rows) {
  InferHeader header{.model = metadata.name, .version = version, .parameters = parameters};
  std::vector<std::size_t> bytes;
  for (const WireTensor& input : metadata.inputs) {
    const auto dtype = dtype_of(input.datatype);
    if (!dtype) return nullptr;
    WireTensor& tensor = header.inputs.emplace_back(input);
    std::size_t all = size_of(*dtype);
    for (std::int64_t& size : tensor.sizes) {
      if (size < 0) size = &size == &tensor.sizes.front() ? 1 : rows;
      if (static_cast<std::uint64_t>(size) > kMostProbeBytes / std::max<std::size_t>(all, 1)) {
        return nullptr;
      }
      all *= static_cast<std::size_t>(size);
    }
    bytes.push_back(all);
  }
  auto payload = std::make_shared<Payload>();
  payload->append(encode(header));
  for (const std::size_t count : bytes) {
    payload->append(raw_prefix(count));
    payload->append(std::string(count, '\0'));
  }
  return payload;
}

std::shared_ptr<const Payload> payload_of(const std::string& message) {
  auto payload = std::make_shared<Payload>();
  payload->append(message);
  return payload;
}

}  // namespace

std::shared_ptr<Service> Service::make(const ModelLocation& location, const Options& options,
                                       Lookup lookup) {
  std::shared_ptr<Service> service(new Service(location, options, std::move(lookup)));
  service->servers_->set_probe(
      [weak = service->weak_from_this()](Server& server, std::function<void(Probed)> done) {
        if (const auto self = weak.lock()) self->probe(server, std::move(done));
      });
  return service;
}

Service::Service(const ModelLocation& location, const Options& options, Lookup lookup)
    : location_(location.text()),
      options_(bounded(options)),
      url_(parse_url(location)),
      subject_("model " + location.text() + ": "),
      lookup_(std::move(lookup)),
      transport_(Transport::shared()),
      budget_(options.retry.budget) {
  require_usable(options_, url_, subject_);
  for (const std::string& server : url_.servers) {
    const std::size_t colon = server.rfind(':');
    names_.push_back({server.substr(0, colon), server.substr(colon)});
  }
  servers_ = std::make_shared<Servers>(
      transport_, [transport = transport_, credentials = credentials_of(options_, url_),
                   limits = limits_of(options_), subject = subject_](const Endpoint& endpoint) {
        try {
          return transport->connect(endpoint.address, endpoint.name, credentials, limits);
        } catch (const LoadError& error) {
          throw LoadError(subject + error.what());
        }
      });
  use_addresses();
}

/// Several questions, which end when the last is answered.
class Service::Round {
 public:
  explicit Round(std::function<void()> done) : done_(std::move(done)) {}
  ~Round() { done_(); }
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;

 private:
  std::function<void()> done_;
};

void Service::look_up(std::function<void()> done) {
  const auto round = std::make_shared<Round>([weak = weak_from_this(), done = std::move(done)] {
    if (const auto self = weak.lock()) self->end_round();
    done();
  });
  for (Name& name : names_) {
    if (is_address(name.host) || is_proxied(name.host)) continue;
    lookup_(transport_, name.host,
            [weak = weak_from_this(), &name, round](std::vector<std::string> addresses) {
              const auto self = weak.lock();
              if (self == nullptr || addresses.empty()) return;  // what was found last stays
              const std::lock_guard lock(self->mutex_);
              const bool is_one = addresses.size() == 1 && name.addresses.empty();
              if (!is_one) name.addresses = std::move(addresses);
            });
  }
}

void Service::look_up(Clock::time_point deadline, bool is_repeated) {
  const auto over = std::make_shared<std::promise<void>>();
  std::future<void> is_over = over->get_future();
  look_up([over, is_repeated, weak = weak_from_this()] {
    if (const auto self = weak.lock(); self != nullptr && is_repeated) self->look_up_again();
    over->set_value();
  });
  is_over.wait_until(deadline);
}

void Service::look_up_again() {
  const bool has_names = !std::ranges::all_of(names_, is_address, &Name::host);
  if (!has_names || options_.lookup_period.count() == 0) return;
  transport_->after(options_.lookup_period, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->look_up([weak] {
      if (const auto live = weak.lock()) live->look_up_again();
    });
  });
}

void Service::end_round() noexcept {
  try {
    use_addresses();
  } catch (const std::exception& error) {  // the servers stay as they were
    log(LogLevel::kWarning, std::string(error.what()) + "; no new servers");
  }
  {
    const std::lock_guard lock(mutex_);
    if (model_ == nullptr && !probes_until_loaded_) return;  // load() asks them
  }
  for (Server* const server : servers_->all()) servers_->look_at(*server);
}

void Service::use_addresses() {
  std::vector<Endpoint> endpoints;
  const auto add = [&](Endpoint endpoint) {
    const bool is_new =
        std::ranges::find(endpoints, endpoint.address, &Endpoint::address) == endpoints.end();
    if (is_new) endpoints.push_back(std::move(endpoint));
  };
  {
    const std::lock_guard lock(mutex_);
    for (const Name& name : names_) {
      const std::string whole = name.host + name.port;
      if (name.addresses.empty()) add({whole, whole});
      for (const std::string& address : name.addresses) add({address + name.port, whole});
    }
  }
  servers_->update(endpoints);
}

std::shared_ptr<const ServedModel> Service::model() const {
  const std::lock_guard lock(mutex_);
  return model_;
}

/// The answers of the servers of a URL to one question.
struct Service::Answers {
  struct One {
    Server* server;
    CallStatus status;
  };
  std::vector<One> all;

  /// The first of those that failed so; nullptr: none did.
  template <class Is>
  const One* first(const Is& is) const {
    const auto found = std::ranges::find_if(all, [&](const One& one) { return is(one.status); });
    return found == all.end() ? nullptr : &*found;
  }
};

Service::Answers Service::ask_all(Clock::time_point deadline) {
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    Answers answers;
    std::size_t left = 0;
    bool has_one = false;
  };
  const auto state = std::make_shared<State>();
  const std::vector<Server*> servers = servers_->all();
  const CallStatus late{kDeadlineExceeded, "has not answered in time"};
  for (Server* const server : servers) state->answers.all.push_back({server, late});
  state->left = servers.size();
  for (std::size_t i = 0; i < servers.size(); ++i) {
    ask(*servers[i], deadline, [state, i](const CallStatus& status) {
      const std::lock_guard lock(state->mutex);
      state->answers.all[i].status = status;
      state->has_one = state->has_one || status.is_ok();
      --state->left;
      state->changed.notify_all();
    });
  }
  std::unique_lock lock(state->mutex);
  const auto are_all = [&] { return state->left == 0; };
  state->changed.wait_until(lock, deadline, [&] { return state->has_one || are_all(); });
  state->changed.wait_until(lock, std::min(deadline, Clock::now() + kLoadGrace), are_all);
  return state->answers;
}

void Service::load() {
  const Clock::time_point deadline = Clock::now() + options_.load_deadline;
  look_up(std::min(deadline, Clock::now() + options_.attempt_deadline), true);
  bool has_said = false;
  for (int attempts = 1;; ++attempts) {
    const Answers answers = ask_all(std::min(deadline, Clock::now() + options_.attempt_deadline));
    if (settle()) return;
    const bool is_over = Clock::now() + kLoadPause >= deadline;
    const auto is_failure = [](const CallStatus& status) { return !status.is_ok(); };
    const auto is_refusal = [](const CallStatus& status) {
      const Verdict verdict = verdict_of(status);
      return !status.is_ok() && (verdict == Verdict::kRefused || verdict == Verdict::kAnother);
    };
    const auto may_pass = [&](const CallStatus& status) {
      return !is_refusal(status) && !is_about_certificates(status);
    };
    const auto* const failed = answers.first(is_failure);
    const bool has_answer = answers.first([](const CallStatus& status) { return status.is_ok(); });
    // Of all rounds: the last may have been too short for an answer.
    has_said = has_said || has_answer;
    // Servers that agree on a model that is not expected will not change by themselves.
    const bool is_final = has_answer && failed == nullptr && agreed(false) != nullptr;
    if (is_final || (is_over && has_said)) throw error_at_load();
    if (is_over || (!has_answer && answers.first(may_pass) == nullptr)) {
      const auto* const refused = answers.first(is_refusal);
      if (refused != nullptr) {
        throw LoadError(error(refused->status, *refused->server, attempts).what());
      }
      throw error(failed->status, *failed->server, attempts);
    }
    std::this_thread::sleep_for(kLoadPause);
  }
}

ServiceError Service::error_at_load() const {
  const std::string& expected = options_.checksum.empty() ? fallback_checksum_ : options_.checksum;
  const std::string what =
      expected.empty() ? "its servers do not have one model"
                       : "no server has the model that is expected, of checksum " + expected;
  return ServiceError(
      subject_ + what + ": " + models_of_servers() + "; deploy one file to all of them" +
          with_option(", or say which one is right (", "checksum", "; sha256sum FILE prints it)"),
      kFailedPrecondition, {}, true);
}

void Service::probe_until_loaded() {
  {
    const std::lock_guard lock(mutex_);
    probes_until_loaded_ = true;
  }
  for (Server* const server : servers_->all()) servers_->suspect(*server);
}

bool Service::is_expected(const ServedModel& model) const {
  if (!options_.checksum.empty()) return model.checksum == options_.checksum;
  return fallback_checksum_.empty() || model.checksum.empty() ||
         model.checksum == fallback_checksum_;
}

std::shared_ptr<const ServedModel> Service::agreed(bool is_as_expected) const {
  std::shared_ptr<const ServedModel> found;
  bool do_agree = true;
  servers_->for_each([&](const Server& server) {
    if (server.model == nullptr || (is_as_expected && !is_expected(*server.model))) return;
    do_agree = do_agree && (found == nullptr || found == server.model);
    found = server.model;
  });
  return do_agree ? found : nullptr;
}

bool Service::settle() {
  std::shared_ptr<const ServedModel> model;
  {
    const std::lock_guard lock(mutex_);
    if (model_ != nullptr) return true;
    model = model_ = agreed(true);
  }
  if (model == nullptr) return false;
  if (model->checksum.empty() && !fallback_checksum_.empty()) {
    log(LogLevel::kWarning,
        subject_ +
            "the servers do not state which file they run, so it cannot be compared with the "
            "fallback " +
            options_.fallback);
  }
  for (Server* const server : servers_->all()) {
    const auto has = servers_->model_of(*server);
    if (has == nullptr) servers_->suspect(*server);
    if (has == nullptr || has == model) continue;
    if (servers_->set_model(*server, has, true)) warn_of_another(*server, *has, *model);
  }
  return true;
}

void Service::warn_of_another(const Server& server, const ServedModel& has,
                              const ServedModel& expected) const {
  log(LogLevel::kWarning, subject_ + "server " + server.address + " has " + has.summary() +
                              ", expected " + expected.summary() +
                              "; it gets no calls until it has that");
}

/// The questions to one server which model it has.
class Service::Asking final : public std::enable_shared_from_this<Asking> {
 public:
  using Done = std::function<void(const CallStatus&)>;

  Asking(std::shared_ptr<Service> service, Server& server, Clock::time_point deadline, Done done)
      : service_(std::move(service)),
        server_(server),
        connection_(service_->servers().connection_of(server)),
        deadline_(deadline),
        done_(std::move(done)) {}

  void start() {
    if (connection_ == nullptr)
      return done_({kUnavailable, "is not an address of its name any more"});
    const ServiceUrl& url = service_->url();
    connection_->call(kModelMetadata, payload_of(encode_model(url.model, url.version)), deadline_,
                      [self = shared_from_this()](const CallStatus& status, Replies reply) {
                        self->guarded([&] { self->take_metadata(status, reply); });
                      });
  }

 private:
  using Replies = std::span<const protobuf::Piece>;

  static constexpr int kMostRepeated = 5;

  void take_metadata(const CallStatus& status, Replies reply) {
    if (!status.is_ok()) return done_(status);
    metadata_ = decode_metadata(protobuf::Bytes(reply));
    if (CallStatus wrong = service_->wrong_metadata(metadata_); !wrong.is_ok()) return done_(wrong);
    question_ = is_tensoa(metadata_)
                    ? zeros_for(metadata_, service_->url().version,
                                encode_parameter(package::kDescribeParameter, ""), 0)
                    : nullptr;
    if (question_ == nullptr) return learned(ServedModel::of(metadata_, service_->url()));
    ask_for_description();
  }

  void ask_for_description() {
    connection_->call(kModelInfer, question_, deadline_,
                      [self = shared_from_this()](const CallStatus& answer, Replies description) {
                        self->guarded([&] { self->take_description(answer, description); });
                      });
  }

  void take_description(const CallStatus& status, Replies reply) {
    const bool is_refused = verdict_of(status) == Verdict::kRefused;
    if (!status.is_ok() && !is_refused) return done_(status);
    if (!status.is_ok() && repeat()) return;
    if (is_about_tensors(status)) return done_(status);  // which are not those of the metadata
    // Earlier back-ends lack this question, and compute an answer to it, or refuse.
    const InferReply answer = status.is_ok() ? decode_infer(protobuf::Bytes(reply)) : InferReply{};
    learned(ServedModel::of(metadata_, service_->url(), answer));
  }

  /// The description may be of another server behind the address, with another model, than the metadata. It is read again: servers in
  /// turn, as by chance, come round to one that fits.
  /// @return whether a question is on its way
  bool repeat() {
    if (++repeated_ > kMostRepeated) return false;
    ask_for_description();
    return true;
  }

  void learned(ServedModel model) {
    service_->learn(server_, std::move(model));
    done_({});
  }

  template <class Act>
  void guarded(const Act& act) {
    try {
      act();
    } catch (const protobuf::DecodeError& error) {
      done_({kInternal, std::string("sent metadata that cannot be read: ") + error.what});
    } catch (const InputError& error) {
      if (repeat()) return;
      done_({kInternal,
             std::string("sent metadata that cannot be read: ") + printable(error.what())});
    }
  }

  std::shared_ptr<Service> service_;
  Server& server_;
  std::shared_ptr<Connection> connection_;
  Clock::time_point deadline_;
  Done done_;
  ModelMetadataReply metadata_;
  std::shared_ptr<const Payload> question_;  ///< for the description
  int repeated_ = 0;
};

void Service::ask(Server& server, Clock::time_point deadline,
                  std::function<void(const CallStatus&)> done) {
  std::make_shared<Asking>(shared_from_this(), server, deadline, std::move(done))->start();
}

void Service::ask_others(Clock::time_point deadline, std::function<void()> done) {
  std::vector<Server*> others;
  {
    std::unique_lock lock(mutex_);
    if (!is_asking_ && Clock::now() - last_round_ >= kRoundPause) {
      std::vector<Server*> failing;  // which would keep the calls waiting for nothing
      servers_->for_each([&](Server& server) {
        if (server.model == model_) return;
        (server.is_suspect ? failing : others).push_back(&server);
      });
      if (others.empty()) others = std::move(failing);
    }
    if (!is_asking_ && others.empty()) {
      lock.unlock();
      return done();
    }
    is_asking_ = true;
    const auto waiting = std::make_shared<std::function<void()>>(std::move(done));
    waiting_.push_back(waiting);
    const Clock::duration left = deadline - Clock::now();
    if (left < kProbeDeadline) {
      transport_->after(std::max(left, Clock::duration::zero()),
                        [weak = weak_from_this(), waiting] {
                          if (const auto self = weak.lock()) self->stop_waiting(waiting);
                        });
    }
  }
  if (others.empty()) return;
  const auto end = std::make_shared<Round>([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    {
      const std::lock_guard lock(self->mutex_);
      self->is_asking_ = false;
      self->last_round_ = Clock::now();
    }
    self->stop_waiting();
  });
  for (Server* const server : others) {
    ask(*server, Clock::now() + kProbeDeadline,
        [self = shared_from_this(), end, server](const CallStatus& answer) {
          if (!answer.is_ok()) return self->servers_->suspect(*server);
          if (self->servers_->model_of(*server) == self->model()) self->stop_waiting();
        });
  }
}

void Service::stop_waiting(const std::shared_ptr<std::function<void()>>& one) {
  std::vector<std::function<void()>> over;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(waiting_, [&](const auto& waiting) {
      if (one != nullptr && waiting != one) return false;
      over.push_back(std::exchange(*waiting, {}));
      return true;
    });
  }
  for (const auto& go_on : over) go_on();
}

void Service::learn(Server& server, ServedModel said) {
  std::shared_ptr<const ServedModel> model;
  std::shared_ptr<const ServedModel> wanted;
  bool is_news = false;
  {
    const std::lock_guard lock(
        mutex_);  // two servers that say the same at the same time get one object
    wanted = model_;
    const auto compare = [&](const std::shared_ptr<const ServedModel>& known) {
      if (model == nullptr && known != nullptr && known->is_same(said)) model = known;
    };
    compare(wanted);
    servers_->for_each([&](const Server& other) {
      for (const auto& known : {other.model, other.doubted, other.warned_of}) compare(known);
    });
    if (model == nullptr) model = std::make_shared<const ServedModel>(std::move(said));
    is_news = servers_->set_model(server, model, wanted != nullptr && model != wanted);
  }
  if (is_news) warn_of_another(server, *model, *wanted);
}

CallStatus Service::wrong_metadata(const ModelMetadataReply& metadata) const {
  if (metadata.name != url_.model) {
    return {kInternal,
            "answered for the model \"" + metadata.name + "\", expected \"" + url_.model + '"'};
  }
  const bool has_version =
      url_.version.empty() || metadata.versions.empty() ||
      std::ranges::find(metadata.versions, url_.version) != metadata.versions.end();
  if (!has_version) return {kNotFound, "does not have version " + url_.version + " of it"};
  return {};
}

void Service::probe(Server& server, std::function<void(Probed)> done) {
  const std::shared_ptr<Connection> connection = servers_->connection_of(server);
  if (connection == nullptr) return done(Probed::kFails);
  connection->call(kModelReady, payload_of(encode_model(url_.model, url_.version)),
                   Clock::now() + kProbeDeadline,
                   [self = shared_from_this(), &server, done = std::move(done)](
                       const CallStatus& status, auto reply) {
                     bool is_ready = false;
                     try {
                       is_ready = status.is_ok() && decode_ready(protobuf::Bytes(reply));
                     } catch (const protobuf::DecodeError&) {  // it is not
                     }
                     if (!is_ready) return done(Probed::kFails);
                     self->ask(server, Clock::now() + kProbeDeadline,
                               [self, &server, done](const auto& answer) {
                                 const auto model = self->servers_->model_of(server);
                                 if (!answer.is_ok() || model == nullptr)
                                   return done(Probed::kFails);
                                 self->settle();
                                 self->probe_inference(server, model, done);
                               });
                   });
}

/// A server that says "ready" may still not answer (SuperSONIC 82), so an inference decides. An answer that
/// refuses the zeros is one.
void Service::probe_inference(Server& server, std::shared_ptr<const ServedModel> model,
                              std::function<void(Probed)> done) {
  const auto works = [self = shared_from_this(), model, done = std::move(done)](bool does) {
    done(!does ? Probed::kFails : model == self->model() ? Probed::kWorks : Probed::kHasAnother);
  };
  const std::shared_ptr<const Payload> zeros =
      zeros_for(model->metadata, model->version_for(url_), model->parameters, 1);
  const std::shared_ptr<Connection> connection = servers_->connection_of(server);
  if (zeros == nullptr || connection == nullptr) return works(connection != nullptr);
  connection->call(kModelInfer, zeros, Clock::now() + kProbeDeadline,
                   [works, model](const CallStatus& status, auto reply) {
                     if (!status.is_ok()) {
                       const Verdict verdict = verdict_of(status);
                       return works(verdict == Verdict::kRefused || verdict == Verdict::kAnother);
                     }
                     bool is_right = false;
                     try {
                       is_right = model->difference(decode_infer(protobuf::Bytes(reply))).empty();
                     } catch (const protobuf::DecodeError&) {  // it is not
                     }
                     works(is_right);
                   });
}

std::shared_ptr<const ServedModel> Service::successor(
    const std::shared_ptr<const ServedModel>& old) const {
  if (options_.on_new_version != OnNewVersion::kFollow) return nullptr;
  const std::lock_guard lock(mutex_);
  if (model_ != old) return model_;
  std::shared_ptr<const ServedModel> next;
  bool do_agree = true;
  servers_->for_each([&](const Server& server) {
    const Standing standing = standing_of(server, old.get());
    if (standing == Standing::kFails) return;
    do_agree =
        do_agree && standing == Standing::kHasAnother && (next == nullptr || next == server.model);
    next = server.model;
  });
  return do_agree ? next : nullptr;
}

void Service::follow(const std::shared_ptr<const ServedModel>& old,
                     const std::shared_ptr<const ServedModel>& next) {
  {
    const std::lock_guard lock(mutex_);
    if (model_ != old) return;
    model_ = next;
    has_followed_ = true;
  }
  log(LogLevel::kWarning, subject_ + "calls go on with " + next->summary() +
                              ", which the servers have instead of " + old->summary() +
                              with_option(" (", "on_new_version", ")"));
}

bool Service::are_all_with(const ServedModel& model, std::span<Server* const> servers) const {
  bool are_all = true;
  servers_->for_each([&](const Server& server) {
    const bool is_one = std::ranges::find(servers, &server) != servers.end();
    are_all = are_all && (is_one || server.model.get() != &model);
  });
  return are_all;
}

bool Service::may_fall_back() const {
  const std::lock_guard lock(mutex_);
  return !has_followed_;
}

std::string Service::models_of_servers() const {
  std::string text;
  servers_->for_each([&](const Server& server) {
    text += (text.empty() ? "" : "; ") + server.address +
            (server.model != nullptr     ? " has " + server.model->summary()
             : server.doubted != nullptr ? " does not have it any more"
                                         : " has not answered");
    if (standing_of(server, server.model.get()) == Standing::kFails) text += " and is not working";
  });
  return text;
}

ServiceError Service::error_of_models(const ServedModel& expected) const {
  return ServiceError(subject_ + "no server has the model that was loaded, " + expected.summary() +
                          ", any more: " + models_of_servers() + "; load the model again" +
                          with_option(", or say what happens then (", "on_new_version", ")"),
                      kFailedPrecondition, {}, true);
}

ServiceError Service::error_of_silence(const ServedModel& expected) const {
  return ServiceError(subject_ +
                          "no server has said in time that it has the model that was loaded, " +
                          expected.summary() + ": " + models_of_servers() +
                          "; check that servers run at these addresses",
                      kUnavailable, {}, true);
}

ServiceError Service::error(const CallStatus& status, const Server& server, int attempts) const {
  std::string message = subject_ + "server " + server.address + ": " + name_of_code(status.code);
  if (!status.message.empty()) message += ", " + status.message;
  if (attempts > 1) message += "; " + std::to_string(attempts) + " attempts";
  const bool may_retry = verdict_of(status) != Verdict::kRefused && !is_about_certificates(status);
  return ServiceError(message + "; " + advice_for(status), status.code, server.address, may_retry);
}

ServiceError Service::error(const std::string& what, int code, const std::string& server) const {
  return ServiceError(subject_ + "server " + server + ": " + what, code, server, false);
}

void Service::begin_call() {
  const std::lock_guard lock(mutex_);
  ++calls_;
}

void Service::end_call() {
  const std::lock_guard lock(mutex_);
  if (--calls_ == 0) is_idle_.notify_all();
}

void Service::wait_for_calls() {
  std::unique_lock lock(mutex_);
  is_idle_.wait(lock, [&] { return calls_ == 0; });
}

}  // namespace tensoa::remote
