#include "braced_reader.h"

#include "weft/base/json_string.h"
#include "weft/base/text.h"

#include "json_scan.h"

namespace weft::reply {
namespace {

constexpr std::size_t kMaxNesting = 64;
constexpr std::size_t kMaxKey = 256;

// Whether the last character of a string is escaped.
bool ends_escaped(std::string_view text) {
  std::size_t n = 0;
  while (n + 1 < text.size() && text[text.size() - 2 - n] == '\\') ++n;
  return n % 2 == 1;
}

}  // namespace

Step BracedReader::feed(char c) {
  switch (state_) {
    case State::value:
    case State::value_or_end:
      return begin_value(c);
    case State::key_or_end:
    case State::key:
      return key(c);
    case State::after:
      return after(c);
    case State::bare:
      return bare(c);
    case State::quoted:
      text_ += c;
      if (text_.ends_with(quote_)) {
        text_.resize(text_.size() - quote_.size());
        end_text(json_string(text_));
      }
      return Step::more;
    case State::json_string:
      text_ += c;
      if (c != '"' || ends_escaped(text_)) return Step::more;
      if (!is_json(text_)) return Step::bad;
      end_text(text_);
      return Step::more;
  }
  return Step::bad;
}

Step BracedReader::begin_value(char c) {
  if (is_space(c)) return Step::more;
  if (c == ']' && state_ == State::value_or_end) return close(c);
  if (open_.empty() && c != '{') return Step::bad;
  if (c == '{' || c == '[') {
    if (open_.size() == kMaxNesting) return Step::bad;
    open_ += c;
    json_ += c;
    state_ = c == '{' ? State::key_or_end : State::value_or_end;
    return Step::more;
  }
  if (c == ',' || c == '}' || c == ']' || c == ':') return Step::bad;
  text_ = c;
  state_ = c == '"' ? State::json_string : State::bare;
  return Step::more;
}

// Whether the name has a quote at its beginning alone.
bool BracedReader::is_open_key() const {
  if (text_.starts_with('"')) return !is_json(text_);
  return text_.starts_with(quote_) &&
         (text_.size() < 2 * quote_.size() || !trim_right(text_).ends_with(quote_));
}

Step BracedReader::key(char c) {
  if (text_.empty() && is_space(c)) return Step::more;
  if (text_.empty() && c == '}' && state_ == State::key_or_end) return close(c);
  if (c != ':' || is_open_key()) {
    text_ += c;
    return text_.size() > kMaxKey ? Step::bad : Step::more;
  }
  std::string_view name = trim(text_);
  if (name.size() >= 2 * quote_.size() && name.starts_with(quote_) && name.ends_with(quote_))
    name = name.substr(quote_.size(), name.size() - 2 * quote_.size());
  if (name.empty()) return Step::bad;
  const std::string decoded =
      name.front() == '"' && is_json(name) ? decode_json_string(name) : std::string(name);
  if (open_.size() == 1) name_ = decoded;
  json_ += json_string(decoded) + ": ";
  text_.clear();
  state_ = State::value;
  return Step::more;
}

// A value without quotes, or the beginning of a quote.
Step BracedReader::bare(char c) {
  if (c != ',' && c != '}' && c != ']') {
    text_ += c;
    if (text_ == quote_) {
      text_.clear();
      state_ = State::quoted;
    }
    return Step::more;
  }
  end_text(bare_value(trim(text_)));
  return after(c);
}

std::string BracedReader::bare_value(std::string_view text) const {
  const JsonTypes types = open_.size() == 1 ? tools_->types_of(tool_, name_) : 0;
  return typed_value(text, types == 0 && !is_json(text) ? kBoolean | kNull : types);
}

void BracedReader::end_text(std::string_view json) {
  json_ += json;
  text_.clear();
  state_ = State::after;
}

Step BracedReader::after(char c) {
  if (is_space(c)) return Step::more;
  if (c == '}' || c == ']') return close(c);
  if (c != ',') return Step::bad;
  json_ += ", ";
  state_ = open_.back() == '{' ? State::key : State::value;
  return Step::more;
}

Step BracedReader::close(char c) {
  if ((open_.back() == '{') != (c == '}')) return Step::bad;
  open_.pop_back();
  json_ += c;
  state_ = State::after;
  return open_.empty() ? Step::done : Step::more;
}

}  // namespace weft::reply
