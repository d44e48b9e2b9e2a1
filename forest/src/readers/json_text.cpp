// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "json_text.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

namespace tensoa::forest {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

bool is_of_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '+' || c == '.';
}

class JsonReader {
 public:
  JsonReader(std::string_view text, JsonEvents& events) : text_(text), events_(events) {}

  void run() {
    value();
    while (!open_.empty()) {
      if (at_close()) {
        close();
        continue;
      }
      if (!is_first_) expect(',');
      if (open_.back() == '{') {
        events_.key(quoted());
        expect(':');
      }
      value();
    }
    if (next() != '\0') fail("text after its end");
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("at byte " + std::to_string(at_) + " of its JSON: " + what);
  }

  /// The next character that is not a space; 0 at the end.
  char next() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  void expect(char wanted) {
    const char got = next();
    if (got == wanted) {
      ++at_;
    } else if (at_ == text_.size()) {
      fail("it is cut off");
    } else {
      fail(std::string("got '") + got + "', expected '" + wanted + '\'');
    }
  }

  bool at_close() { return next() == (open_.back() == '{' ? '}' : ']'); }

  void close() {
    ++at_;
    if (open_.back() == '{') {
      events_.end_object();
    } else {
      events_.end_array();
    }
    open_.pop_back();
    is_first_ = false;
  }

  void value() {
    const char first = next();
    is_first_ = first == '{' || first == '[';
    if (is_first_) {
      if (open_.size() == kDeepestJson) fail("nested deeper than " + std::to_string(kDeepestJson));
      ++at_;
      open_.push_back(first);
      if (first == '{') {
        events_.begin_object();
      } else {
        events_.begin_array();
      }
    } else if (first == '"') {
      events_.string(text_of(quoted()));
    } else {
      const std::size_t begin = at_;
      while (at_ < text_.size() && is_of_word(text_[at_])) ++at_;
      if (at_ == begin) fail(at_ == text_.size() ? "it is cut off" : "expected a value");
      events_.word(text_.substr(begin, at_ - begin));
    }
  }

  /// The text between the next two quotes.
  std::string_view quoted() {
    expect('"');
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) {
      at_ = text_.size();
      fail("it is cut off");
    }
    return text_.substr(begin, at_++ - begin);
  }

  std::string text_of(std::string_view quoted) const {
    if (quoted.find('\\') == std::string_view::npos) return std::string(quoted);
    try {
      return nlohmann::json::parse('"' + std::string(quoted) + '"').get<std::string>();
    } catch (const nlohmann::json::exception& error) {
      fail(error.what());
    }
  }

  std::string_view text_;
  JsonEvents& events_;
  std::size_t at_ = 0;
  std::vector<char> open_;  ///< the brackets of all containers that are not closed
  bool is_first_ = false;   ///< whether the innermost one has nothing yet
};

}  // namespace

void read_json(std::string_view text, JsonEvents& events) { JsonReader(text, events).run(); }

}  // namespace tensoa::forest
