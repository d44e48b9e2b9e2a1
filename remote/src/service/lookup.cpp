// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "service/lookup.hpp"

#include <arpa/inet.h>
#include <netdb.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <initializer_list>
#include <utility>

namespace tensoa::remote {
namespace {

constexpr Clock::duration kFirstLook = std::chrono::milliseconds(1);
constexpr Clock::duration kLongestLook = std::chrono::milliseconds(50);

/// The request of glibc, at an address that must stay.
struct Request {
  explicit Request(std::string name) : host(std::move(name)) {
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_ADDRCONFIG;
    entry.ar_name = host.c_str();
    entry.ar_request = &hints;
  }
  ~Request() {
    if (entry.ar_result != nullptr) freeaddrinfo(entry.ar_result);
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  std::string host;
  addrinfo hints{};
  gaicb entry{};
};

std::string text_of(const addrinfo& info) {
  std::array<char, NI_MAXHOST> text{};
  if (getnameinfo(info.ai_addr, info.ai_addrlen, text.data(), text.size(), nullptr, 0,
                  NI_NUMERICHOST) != 0) {
    return {};
  }
  return info.ai_family == AF_INET6 ? '[' + std::string(text.data()) + ']' : text.data();
}

std::vector<std::string> addresses_of(const addrinfo* first) {
  std::vector<std::string> addresses;
  for (const addrinfo* info = first; info != nullptr; info = info->ai_next) {
    if (info->ai_family != first->ai_family) continue;
    std::string address = text_of(*info);
    const bool is_new = std::ranges::find(addresses, address) == addresses.end();
    if (!address.empty() && is_new) addresses.push_back(std::move(address));
  }
  return addresses;
}

/// A request on its way, looked at from time to time.
class Looking final : public std::enable_shared_from_this<Looking> {
 public:
  using Done = std::function<void(std::vector<std::string>)>;

  Looking(const std::shared_ptr<Transport>& transport, const std::string& host, Done done)
      : transport_(transport), request_(std::make_unique<Request>(host)), done_(std::move(done)) {}
  ~Looking() {
    // glibc still writes to a request that it cannot cancel.
    if (is_going() && gai_cancel(&request_->entry) == EAI_NOTCANCELED) {
      static_cast<void>(request_.release());
    }
  }
  Looking(const Looking&) = delete;
  Looking& operator=(const Looking&) = delete;

  void start() {
    std::array<gaicb*, 1> all{&request_->entry};
    if (getaddrinfo_a(GAI_NOWAIT, all.data(), 1, nullptr) != 0) return done_({});
    look_later();
  }

 private:
  bool is_going() const { return gai_error(&request_->entry) == EAI_INPROGRESS; }

  void look_later() {
    const std::shared_ptr<Transport> transport = transport_.lock();
    if (transport == nullptr) return;
    transport->after(pause_, [self = shared_from_this()] {
      self->pause_ = std::min(2 * self->pause_, kLongestLook);
      if (self->is_going()) return self->look_later();
      const gaicb& entry = self->request_->entry;
      const bool is_known = gai_error(&self->request_->entry) == 0 && entry.ar_result != nullptr;
      self->done_(is_known ? addresses_of(entry.ar_result) : std::vector<std::string>());
    });
  }

  std::weak_ptr<Transport> transport_;
  std::unique_ptr<Request> request_;
  Done done_;
  Clock::duration pause_ = kFirstLook;
};

/// The first of the variables that is set.
std::string_view first_set(std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() &&
         std::ranges::equal(text.substr(text.size() - end.size()), end, [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) ==
                  std::tolower(static_cast<unsigned char>(b));
         });
}

}  // namespace

Lookup system_lookup() {
  return
      [](const std::shared_ptr<Transport>& transport, const std::string& host, Looking::Done done) {
        std::make_shared<Looking>(transport, host, std::move(done))->start();
      };
}

bool is_address(std::string_view host) {
  if (host.starts_with('[')) return true;
  in_addr ignored{};
  return inet_pton(AF_INET, std::string(host).c_str(), &ignored) == 1;
}

bool is_proxied(std::string_view host) {
  if (first_set({"grpc_proxy", "https_proxy", "http_proxy"}).empty()) return false;
  std::string_view direct = first_set({"no_grpc_proxy", "no_proxy"});
  while (!direct.empty()) {
    const std::size_t comma = std::min(direct.find(','), direct.size());
    if (comma > 0 && ends_with(host, direct.substr(0, comma))) return false;
    direct.remove_prefix(std::min(comma + 1, direct.size()));
  }
  return true;
}

}  // namespace tensoa::remote
