#include "json_scan.h"

#include <cctype>

#include "weft/base/text.h"
#include "weft/base/utf8.h"

namespace weft::reply {
namespace {

constexpr std::size_t kMaxDepth = 256;
constexpr std::size_t kMaxScalar = 512;

}  // namespace

bool JsonScan::scalar_is_good() const {
  const std::string& s = scalar_;
  if (s == "true" || s == "false" || s == "null") return true;
  std::size_t i = s[0] == '-' ? 1 : 0;
  const auto digits = [&] {
    const std::size_t begin = i;
    while (i < s.size() && is_digit(s[i])) ++i;
    return i > begin;
  };
  const std::size_t first = i;
  if (!digits() || (s[first] == '0' && i > first + 1)) return false;
  if (i < s.size() && s[i] == '.' && (++i, !digits())) return false;
  if (i < s.size() && (s[i] | 0x20) == 'e') {
    ++i;
    if (i < s.size() && (s[i] == '+' || s[i] == '-')) ++i;
    if (!digits()) return false;
  }
  return i == s.size();
}

JsonScan::Event JsonScan::begin_value(char c) {
  if (c == '{' || c == '[') {
    if (open_.size() == kMaxDepth) return Event::bad;
    open_ += c;
    state_ = c == '{' ? State::key_or_end : State::value_or_end;
    return Event::open;
  }
  if (c == '"') {
    state_ = State::string;
    is_key_ = false;
    return Event::none;
  }
  if (c != '-' && !is_digit(c) && c != 't' && c != 'f' && c != 'n') return Event::bad;
  state_ = State::scalar;
  scalar_.assign(1, c);
  return Event::scalar;
}

JsonScan::Event JsonScan::end_bracket(char c) {
  if (open_.empty() || open_.back() != (c == '}' ? '{' : '[')) return Event::bad;
  open_.pop_back();
  state_ = State::after;
  return Event::close;
}

// Within a string, except for its quotes.
JsonScan::Event JsonScan::feed_string(char c) {
  if (state_ == State::hex) {
    if (!std::isxdigit(static_cast<unsigned char>(c))) return Event::bad;
    if (--hex_left_ == 0) state_ = State::string;
    return Event::none;
  }
  if (state_ == State::escape) {
    if (c == 'u') {
      hex_left_ = 4;
      state_ = State::hex;
      return Event::none;
    }
    state_ = State::string;
    return std::string_view("\"\\/bfnrt").find(c) == std::string_view::npos ? Event::bad
                                                                            : Event::none;
  }
  if (static_cast<unsigned char>(c) < 0x20) return Event::bad;
  if (c == '\\') state_ = State::escape;
  if (c != '"') return Event::none;
  state_ = is_key_ ? State::colon : State::after;
  return is_key_ ? Event::key : Event::string;
}

JsonScan::Event JsonScan::feed(char c) {
  if (in_string()) return feed_string(c);
  if (state_ == State::scalar) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '+' || c == '-') {
      scalar_ += c;
      return scalar_.size() > kMaxScalar ? Event::bad : Event::none;
    }
    if (!scalar_is_good()) return Event::bad;
    state_ = State::after;
  }
  if (is_space(c)) return Event::none;
  switch (state_) {
    case State::value_or_end:
      if (c == ']') return end_bracket(c);
      return begin_value(c);
    case State::value:
      return begin_value(c);
    case State::key_or_end:
      if (c == '}') return end_bracket(c);
      [[fallthrough]];
    case State::key:
      if (c != '"') return Event::bad;
      state_ = State::string;
      is_key_ = true;
      return Event::none;
    case State::colon:
      if (c != ':') return Event::bad;
      state_ = State::value;
      return Event::none;
    default:
      break;
  }
  if (open_.empty()) return Event::bad;
  if (c != ',') return end_bracket(c);
  state_ = open_.back() == '{' ? State::key : State::value;
  return Event::none;
}

bool is_json(std::string_view text) {
  JsonScan scan;
  for (const char c : text)
    if (scan.feed(c) == JsonScan::Event::bad) return false;
  return scan.feed(' ') != JsonScan::Event::bad && scan.done();
}

std::string decode_json_string(std::string_view literal) {
  static constexpr std::string_view kFrom = "bfnrt", kTo = "\b\f\n\r\t";
  std::string out;
  const std::string_view s = literal.substr(1, literal.size() - 2);
  const auto hex = [&](std::size_t at) {
    char32_t code = 0;
    for (std::size_t i = at; i < at + 4 && i < s.size(); ++i)
      code =
          code * 16 + static_cast<char32_t>(is_digit(s[i]) ? s[i] - '0' : (s[i] | 0x20) - 'a' + 10);
    return code;
  };
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '\\' || i + 1 >= s.size()) {
      out += s[i];
      continue;
    }
    const char c = s[++i];
    if (c != 'u') {
      const std::size_t at = kFrom.find(c);
      out += at == std::string_view::npos ? c : kTo[at];
      continue;
    }
    char32_t code = hex(i + 1);
    i += 4;
    if (code >= 0xD800 && code < 0xDC00 && s.substr(i + 1).starts_with("\\u")) {
      const char32_t low = hex(i + 3);
      if (low >= 0xDC00 && low < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        i += 6;
      }
    }
    append_utf8(code >= 0xD800 && code < 0xE000 ? kReplacementCharacter : code, out);
  }
  return out;
}

}  // namespace weft::reply
