// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "service/service.hpp"

#include <algorithm>
#include <array>
#include <future>
#include <thread>

#include "kserve/datatypes.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/log.hpp"

namespace tensoa::remote {
namespace {

/// How long a probe may take: a server that is slower is not one to send events to.
constexpr Clock::duration kProbeDeadline = std::chrono::seconds(2);
/// Between attempts to get the metadata of a model.
constexpr Clock::duration kLoadPause = std::chrono::milliseconds(100);
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
  if (options.retry.attempts < 1) refuse("got retry.attempts below 1");
  if (options.certificate_file.empty() != options.key_file.empty()) {
    refuse("got a client certificate or its key; expected both, or none");
  }
  const bool has_tls = !options.ca_file.empty() || !options.certificate_file.empty();
  if (has_tls && !url.is_encrypted) {
    refuse("got certificates for grpc://, which is not encrypted; use grpcs://");
  }
  if (!options.token_file.empty() && !url.is_encrypted) {
    refuse("would send a token over grpc://, which is not encrypted; use grpcs://");
  }
}

/// A request of the smallest sizes, all zeros; none where a type is not one of ours.
std::shared_ptr<const Payload> zeros_for(const ModelMetadataReply& metadata,
                                         const ServiceUrl& url) {
  InferHeader header{.model = url.model, .version = url.version};
  std::vector<std::size_t> bytes;
  for (const WireTensor& input : metadata.inputs) {
    const auto dtype = dtype_of(input.datatype);
    if (!dtype) return nullptr;
    WireTensor& tensor = header.inputs.emplace_back(input);
    std::size_t all = size_of(*dtype);
    for (std::int64_t& size : tensor.sizes) {
      size = std::max<std::int64_t>(size, 1);
      if (static_cast<std::uint64_t>(size) > kMostProbeBytes / all) return nullptr;
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
      [weak = service->weak_from_this()](Server& server, std::function<void(bool)> done) {
        if (const auto self = weak.lock()) self->probe(server, std::move(done));
      });
  return service;
}

Service::Service(const ModelLocation& location, const Options& options, Lookup lookup)
    : location_(location.text()),
      options_(bounded(options)),
      url_(parse_url(location)),
      subject_("model " + location.text() + ": "),
      checksum_(options.checksum),
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

/// One look at all names, which ends when the last has answered.
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
  bool has_to_load = false;
  {
    const std::lock_guard lock(mutex_);
    has_to_load = probes_until_loaded_ && metadata_ == nullptr;
  }
  if (!has_to_load) return;
  for (Server* const server : servers_->all()) servers_->suspect(*server);
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

std::shared_ptr<const ModelMetadataReply> Service::metadata() const {
  const std::lock_guard lock(mutex_);
  return metadata_;
}

void Service::load() {
  const Clock::time_point deadline = Clock::now() + options_.load_deadline;
  look_up(std::min(deadline, Clock::now() + options_.attempt_deadline), true);
  std::vector<Server*> tried;
  bool may_pass = false;
  for (int attempts = 1;; ++attempts) {
    Server& server = servers_->take(tried);
    const auto [status, reply] =
        call_and_wait(*server.connection, kModelMetadata, encode_model(url_.model, url_.version),
                      std::min(deadline, Clock::now() + options_.attempt_deadline));
    const bool is_gone = !status.is_ok() && verdict_of(status) == Verdict::kElsewhere;
    servers_->release(server, is_gone);
    if (status.is_ok()) {
      const std::array pieces{std::as_bytes(std::span(reply))};
      auto metadata =
          std::make_shared<const ModelMetadataReply>(checked_metadata(pieces, server).value());
      const std::lock_guard lock(mutex_);
      metadata_ = std::move(metadata);
      return;
    }
    tried.push_back(&server);
    const bool is_over = Clock::now() + kLoadPause >= deadline;
    if (verdict_of(status) == Verdict::kFinal) {
      throw LoadError(error(status, server, attempts).what());
    }
    may_pass = may_pass || !is_about_certificates(status);
    const bool were_all = tried.size() >= servers_->all().size();
    if (is_over || (were_all && !may_pass)) throw error(status, server, attempts);
    // All were tried once: give them time.
    if (were_all) {
      tried.clear();
      std::this_thread::sleep_for(kLoadPause);
    }
  }
}

void Service::probe_until_loaded() {
  {
    const std::lock_guard lock(mutex_);
    probes_until_loaded_ = true;
  }
  for (Server* const server : servers_->all()) servers_->suspect(*server);
}

Result<ModelMetadataReply> Service::checked_metadata(std::span<const protobuf::Piece> reply,
                                                     const Server& server) const {
  ModelMetadataReply metadata;
  try {
    metadata = decode_metadata(protobuf::Bytes(reply));
  } catch (const protobuf::DecodeError& error) {
    return Result<ModelMetadataReply>::failure(
        LoadError(subject_ + "server " + server.address +
                  " sent metadata that cannot be read: " + error.what));
  }
  if (metadata.name != url_.model) {
    return Result<ModelMetadataReply>::failure(
        LoadError(subject_ + "server " + server.address + " answered for the model \"" +
                  metadata.name + "\", expected \"" + url_.model + '"'));
  }
  const bool has_version =
      url_.version.empty() || metadata.versions.empty() ||
      std::ranges::find(metadata.versions, url_.version) != metadata.versions.end();
  if (!has_version) {
    return Result<ModelMetadataReply>::failure(LoadError(subject_ + "server " + server.address +
                                                         " does not have version " + url_.version +
                                                         " of it"));
  }
  return metadata;
}

void Service::probe(Server& server, std::function<void(bool)> done) {
  server.connection->call(kModelReady, payload_of(encode_model(url_.model, url_.version)),
                          Clock::now() + kProbeDeadline,
                          [self = shared_from_this(), &server, done = std::move(done)](
                              const CallStatus& status, auto reply) {
                            bool is_ready = false;
                            try {
                              is_ready = status.is_ok() && decode_ready(protobuf::Bytes(reply));
                            } catch (const protobuf::DecodeError&) {  // it is not
                            }
                            if (!is_ready) return done(false);
                            if (self->metadata() == nullptr)
                              return self->probe_metadata(server, done);
                            self->probe_inference(server, done);
                          });
}

void Service::probe_metadata(Server& server, std::function<void(bool)> done) {
  server.connection->call(
      kModelMetadata, payload_of(encode_model(url_.model, url_.version)),
      Clock::now() + kProbeDeadline,
      [self = shared_from_this(), &server, done = std::move(done)](const CallStatus& status,
                                                                   auto reply) {
        if (!status.is_ok()) return done(false);
        Result<ModelMetadataReply> metadata = self->checked_metadata(reply, server);
        if (!metadata) return done(false);
        {
          auto shared = std::make_shared<const ModelMetadataReply>(std::move(*metadata));
          const std::lock_guard lock(self->mutex_);
          self->metadata_ = std::move(shared);
        }
        self->probe_inference(server, done);
      });
}

/// A server that says "ready" may still not answer (SuperSONIC 82), so an inference decides. An answer that
/// refuses the zeros is one.
void Service::probe_inference(Server& server, std::function<void(bool)> done) {
  const std::shared_ptr<const Payload> zeros = zeros_for(*metadata(), url_);
  if (zeros == nullptr) return done(true);
  server.connection->call(kModelInfer, zeros, Clock::now() + kProbeDeadline,
                          [done = std::move(done)](const CallStatus& status, auto) {
                            done(status.is_ok() || verdict_of(status) == Verdict::kFinal);
                          });
}

ServiceError Service::error(const CallStatus& status, const Server& server, int attempts) const {
  std::string message = subject_ + "server " + server.address + ": " + name_of_code(status.code);
  if (!status.message.empty()) message += ", " + status.message;
  if (attempts > 1) message += "; " + std::to_string(attempts) + " attempts";
  const bool may_retry = verdict_of(status) != Verdict::kFinal && !is_about_certificates(status);
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
