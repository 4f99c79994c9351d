#include "python_literal.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "weft/base/json_string.h"
#include "weft/base/text.h"
#include "weft/base/utf8.h"

#include "json_scan.h"

namespace weft::reply {
namespace {

constexpr int kMaxNested = 64;

bool is_word(char c) {
  return is_digit(c) || c == '_' || (to_lower(c) >= 'a' && to_lower(c) <= 'z');
}
bool is_of_function(char c) {
  return is_word(c) || c == '.' || c == '-';
}

class PythonReader {
 public:
  explicit PythonReader(std::string_view text) : text_(text) {}

  bool at_end() { return skip(), at_ == text_.size(); }

  bool value(std::string& out, int depth = 0) {
    skip();
    if (depth > kMaxNested || at_ == text_.size()) return false;
    const char c = text_[at_];
    if (c == '\'' || c == '"') return string(out);
    if (c == '[') return list('[', ']', out, depth);
    if (c == '(') return list('(', ')', out, depth);
    if (c == '{') return dict(out, depth);
    if (is_digit(c) || c == '-' || c == '+' || c == '.') return number(out);
    const std::string_view name = word();
    for (const auto& [python, json] :
         {std::pair("None", "null"), std::pair("True", "true"), std::pair("False", "false"),
          std::pair("null", "null"), std::pair("true", "true"), std::pair("false", "false")})
      if (name == python) return out += json, true;
    return false;
  }

  bool calls(std::vector<PythonCall>& found) {
    if (!take('[')) return false;
    do {
      PythonCall call;
      skip();
      const std::size_t begin = at_;
      while (at_ < text_.size() && is_of_function(text_[at_])) ++at_;
      call.name = text_.substr(begin, at_ - begin);
      if (call.name.empty() || !arguments(call.arguments)) return false;
      found.push_back(std::move(call));
    } while (take(','));
    return take(']');
  }

 private:
  void skip() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string_view word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  // Items that `item` reads, up to `close`, separated by commas. The last one may have a comma too.
  template <class Item>
  bool items(char close, std::string& out, const Item& item) {
    for (bool first = true; !take(close); first = false) {
      if (!first && !take(',')) return false;
      if (!first && take(close)) return true;
      if (!first) out += ", ";
      if (!item()) return false;
    }
    return true;
  }

  bool list(char open, char close, std::string& out, int depth) {
    if (!take(open)) return false;
    out += '[';
    if (!items(close, out, [&] { return value(out, depth + 1); })) return false;
    out += ']';
    return true;
  }

  bool dict(std::string& out, int depth) {
    if (!take('{')) return false;
    out += '{';
    if (!items('}', out, [&] { return member(out, depth + 1); })) return false;
    out += '}';
    return true;
  }
  bool member(std::string& out, int depth) {
    std::string key;
    if (!value(key, depth) || key.starts_with('[') || key.starts_with('{')) return false;
    out += (key.starts_with('"') ? key : json_string(key)) + ": ";
    return take(':') && value(out, depth);
  }

  bool arguments(std::string& out) {
    if (!take('(')) return false;
    out += '{';
    if (!items(')', out, [&] { return argument(out); })) return false;
    out += '}';
    return true;
  }
  bool argument(std::string& out) {
    skip();
    const std::string_view name = word();
    out += json_string(name) + ": ";
    return !name.empty() && take('=') && value(out);
  }

  bool number(std::string& out) {
    if (text_[at_] == '+') ++at_;
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '.' ||
                                  ((text_[at_] == '-' || text_[at_] == '+') &&
                                   (at_ == begin || to_lower(text_[at_ - 1]) == 'e'))))
      ++at_;
    std::string digits;
    for (const char c : text_.substr(begin, at_ - begin))
      if (c != '_') digits += c;
    if (digits.starts_with('.')) digits.insert(0, 1, '0');
    if (digits.ends_with('.')) digits += '0';
    if (!is_json(digits)) return false;
    out += digits;
    return true;
  }

  // Strings next to each other are one.
  bool string(std::string& out) {
    std::string bytes;
    while (at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"')) {
      const char quote = text_[at_++];
      while (at_ < text_.size() && text_[at_] != quote)
        if (!character(bytes)) return false;
      if (at_ == text_.size()) return false;
      ++at_;
      skip();
    }
    out += json_string(bytes);
    return true;
  }

  bool character(std::string& bytes) {
    const char c = text_[at_++];
    if (c != '\\') return bytes += c, true;
    if (at_ == text_.size()) return false;
    const char escape = text_[at_++];
    constexpr std::string_view kFrom = "nrtabfv0\\'\"\n";
    constexpr std::string_view kTo("\n\r\t\a\b\f\v\0\\'\"", 11);
    if (const std::size_t i = kFrom.find(escape); i != kFrom.npos) {
      if (i < kTo.size()) bytes += kTo[i];  // a backslash joins two lines
      return true;
    }
    const std::size_t n = escape == 'x' ? 2 : escape == 'u' ? 4 : escape == 'U' ? 8 : 0;
    if (n == 0) return bytes += '\\', bytes += escape, true;
    std::uint32_t code = 0;
    const char* begin = text_.data() + at_;
    if (text_.size() - at_ < n) return false;
    const auto [end, error] = std::from_chars(begin, begin + n, code, 16);
    if (error != std::errc() || end != begin + n || code > 0x10ffff) return false;
    if (code >= 0xd800 && code < 0xe000) return false;
    at_ += n;
    append_utf8(static_cast<char32_t>(code), bytes);
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// Writes a JSON object as the arguments of a call.
class PythonWriter {
 public:
  // Takes a byte of the object. False if it cannot be written.
  bool feed(char c) {
    const bool was_string = scan_.in_string();
    const JsonScan::Event event = scan_.feed(c);
    if (event == JsonScan::Event::bad || scan_.depth() > kMaxNested) return false;
    if (scan_.in_string() || was_string) {
      literal_ += c;
      return scan_.in_string() || string(event == JsonScan::Event::key && scan_.depth() == 1);
    }
    if (event == JsonScan::Event::scalar) return scalar(c), true;
    if (!is_space(c)) other(c);
    return true;
  }
  bool done() const { return scan_.done(); }
  std::string text;

 private:
  // Python reads all that json_string() writes, but not all of JSON.
  bool string(bool names_argument) {
    const std::string bytes = decode_json_string(literal_);
    literal_.clear();
    text += names_argument ? bytes : json_string(bytes);
    return !names_argument || (!bytes.empty() && std::ranges::all_of(bytes, is_word));
  }

  void scalar(char c) {
    in_word_ = c == 't' || c == 'f' || c == 'n';
    if (!in_word_)
      text += c;
    else
      text += c == 't' ? "True" : c == 'f' ? "False" : "None";
  }

  void other(char c) {
    if (c == ',')
      text += ", ";
    else if (c == ':')
      text += scan_.depth() == 1 ? "=" : ": ";
    else if (c == '{' && scan_.depth() == 1)
      text += '(';
    else if (c == '}' && scan_.depth() == 0)
      text += ')';
    else if (!in_word_ || !is_word(c))
      text += c;
  }

  JsonScan scan_;
  std::string literal_;
  bool in_word_ = false;  // the last scalar is one
};

}  // namespace

std::optional<std::string> python_literal(std::string_view text) {
  PythonReader reader(text);
  std::string out;
  if (!reader.value(out) || !reader.at_end()) return std::nullopt;
  return out;
}

std::optional<std::vector<PythonCall>> python_calls(std::string_view text) {
  PythonReader reader(text);
  std::vector<PythonCall> found;
  if (!reader.calls(found) || !reader.at_end()) return std::nullopt;
  return found;
}

std::optional<std::string> python_call_text(std::string_view name, std::string_view arguments) {
  if (name.empty() || !std::ranges::all_of(name, is_of_function)) return std::nullopt;
  PythonWriter writer;
  writer.text = name;
  if (!trim(arguments).starts_with('{')) return std::nullopt;
  for (const char c : arguments)
    if (!writer.feed(c)) return std::nullopt;
  return writer.done() ? std::optional(std::move(writer.text)) : std::nullopt;
}

}  // namespace weft::reply
