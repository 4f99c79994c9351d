#include "schema/json_tree.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/utf8.h"

#include "compile_work.h"

namespace weft::grammar {
namespace {

constexpr std::size_t kMaxValueDepth = 1000;
constexpr std::size_t kBytesPerStep = 4;
constexpr std::size_t kFewNames = 16;  // they are found without an index

}  // namespace

class JsonReader {
 public:
  JsonReader(std::string_view text, std::vector<JsonNode>& nodes) : text_(text), nodes_(nodes) {}

  void read() {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    value(0, 0, 0);
    space();
    if (at_ < text_.size()) error("text after the end of the value");
  }

 private:
  using Kind = JsonNode::Kind;

  [[noreturn]] void error(const std::string& what) const {
    const std::string_view before = text_.substr(0, std::min(at_, text_.size()));
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    fail<FormatError>("JSON {}:{}: {}", line, before.size() - (before.rfind('\n') + 1) + 1, what);
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) ++at_;
  }
  void expect(char c) {
    if (peek() != c || at_ >= text_.size()) error(fmt::format("expected '{}'", c));
    ++at_;
  }

  JsonId value(JsonId parent, std::uint32_t index, std::size_t depth) {
    if (depth > kMaxValueDepth) error(fmt::format("values more than {} deep", kMaxValueDepth));
    space();
    const auto id = static_cast<JsonId>(nodes_.size());
    nodes_.emplace_back();
    nodes_[id].parent = parent;
    nodes_[id].index = index;
    const char c = peek();
    if (c == '{') {
      object(id, depth);
    } else if (c == '[') {
      array(id, depth);
    } else if (c == '"') {
      std::string text = string();
      nodes_[id].kind = Kind::string;
      nodes_[id].text = std::move(text);
    } else if (c == '-' || (c >= '0' && c <= '9')) {
      number(nodes_[id]);
    } else if (word("true") || word("false")) {
      nodes_[id].kind = Kind::boolean;
      nodes_[id].truth = c == 't';
    } else if (!word("null")) {
      error("expected a value");
    }
    return id;
  }

  bool word(std::string_view w) {
    if (text_.substr(at_, w.size()) != w) return false;
    at_ += w.size();
    return true;
  }

  void array(JsonId id, std::size_t depth) {
    nodes_[id].kind = Kind::array;
    ++at_;
    space();
    if (peek() == ']') return void(++at_);
    for (std::uint32_t i = 0;; ++i) {
      const JsonId item = value(id, i, depth + 1);
      nodes_[id].items.push_back(item);
      space();
      if (peek() == ']') return void(++at_);
      expect(',');
    }
  }

  void object(JsonId id, std::size_t depth) {
    nodes_[id].kind = Kind::object;
    ++at_;
    space();
    if (peek() == '}') return void(++at_);
    for (std::uint32_t i = 0;; ++i) {
      space();
      if (peek() != '"') error("expected a name in quotes");
      std::string name = string();
      space();
      expect(':');
      const JsonId item = value(id, i, depth + 1);
      nodes_[id].items.push_back(item);
      nodes_[id].names.push_back(std::move(name));
      space();
      if (peek() == '}') break;
      expect(',');
    }
    ++at_;
    std::vector<std::string_view> names(nodes_[id].names.begin(), nodes_[id].names.end());
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) error(fmt::format("the name '{}' occurs twice in an object", *twice));
  }

  std::size_t digits() {
    const std::size_t begin = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    if (at_ == begin) error("expected a digit");
    return at_ - begin;
  }

  void number(JsonNode& node) {
    const std::size_t begin = at_;
    if (peek() == '-') ++at_;
    const bool zero = peek() == '0';
    if (digits() > 1 && zero) error("a number may not begin with 0");
    if (peek() == '.') ++at_, digits();
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (digits() > 6) error("an exponent of more than 6 digits");
    }
    node.kind = Kind::number;
    node.text = text_.substr(begin, at_ - begin);
  }

  char32_t hex() {
    char32_t value = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = peek();
      const bool digit = c >= '0' && c <= '9';
      if (!digit && !((c | 32) >= 'a' && (c | 32) <= 'f')) error("\\u needs 4 hexadecimal digits");
      value = value * 16 + static_cast<char32_t>(digit ? c - '0' : (c | 32) - 'a' + 10);
    }
    return value;
  }

  std::string string() {
    std::string out;
    ++at_;
    while (peek() != '"') {
      if (at_ >= text_.size()) error("a string is not closed");
      if (peek() == '\\') {
        ++at_;
        append_utf8(escape(), out);
        continue;
      }
      const Utf8Char c = decode_utf8(text_, at_);
      if (!c.valid) error("not UTF-8");
      if (c.code < 0x20) error("a control character in a string");
      out.append(text_, at_, c.length);
      at_ += c.length;
    }
    ++at_;
    return out;
  }

  char32_t escape() {
    static constexpr std::string_view kLetters = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    const char c = peek();
    ++at_;
    if (const std::size_t i = kLetters.find(c); i != kLetters.npos && c != '\0')
      return static_cast<char32_t>(kMeant[i]);
    if (c != 'u') error("unknown escape");
    const char32_t code = hex();
    if (code < 0xD800 || code > 0xDFFF) return code;
    if (code <= 0xDBFF && word("\\u")) {
      const char32_t low = hex();
      if (low >= 0xDC00 && low <= 0xDFFF) return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    error("half a surrogate pair is not a character");
  }

  std::string_view text_;
  std::vector<JsonNode>& nodes_;
  std::size_t at_ = 0;
};

JsonTree::JsonTree(std::string_view text) {
  CompileWork::add(text.size() / kBytesPerStep);
  JsonReader(text, nodes_).read();
  for (JsonId id = 0; id < nodes_.size(); ++id) {
    const JsonNode& node = nodes_[id];
    if (node.names.size() < kFewNames) continue;
    auto& index = by_name_[id];
    for (std::size_t i = 0; i < node.names.size(); ++i) index.emplace(node.names[i], node.items[i]);
  }
}

JsonId JsonTree::find(JsonId object, std::string_view name) const {
  const JsonNode& node = nodes_[object];
  if (const auto index = by_name_.find(object); index != by_name_.end()) {
    const auto at = index->second.find(name);
    return at == index->second.end() ? kNone : at->second;
  }
  const auto found = std::find(node.names.begin(), node.names.end(), name);
  return found == node.names.end()
             ? kNone
             : node.items[static_cast<std::size_t>(found - node.names.begin())];
}

std::string JsonTree::pointer(JsonId id) const {
  std::vector<std::string> parts;
  for (; id != kRoot; id = nodes_[id].parent) {
    const JsonNode& parent = nodes_[nodes_[id].parent];
    if (parent.kind != JsonNode::Kind::object) {
      parts.push_back(std::to_string(nodes_[id].index));
      continue;
    }
    std::string part;
    for (const char c : parent.names[nodes_[id].index])
      part += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    parts.push_back(std::move(part));
  }
  std::string text = "#";
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) text.append("/").append(*part);
  return text;
}

Decimal Decimal::of(std::string_view number) {
  Decimal d;
  d.negative = number.starts_with('-');
  if (d.negative) number.remove_prefix(1);
  const std::size_t e = number.find_first_of("eE");
  if (e != number.npos) {
    std::string exponent(number.substr(e + 1));
    if (exponent.starts_with('+')) exponent.erase(0, 1);
    d.exponent = std::stoll(exponent);
    number = number.substr(0, e);
  }
  bool behind = false;
  for (const char c : number) {
    if (c == '.') {
      behind = true;
      continue;
    }
    d.digits += c;
    if (behind) --d.exponent;
  }
  d.digits.erase(0, std::min(d.digits.find_first_not_of('0'), d.digits.size()));
  while (d.digits.ends_with('0')) d.digits.pop_back(), ++d.exponent;
  if (d.digits.empty()) d = {};
  return d;
}

std::string Decimal::whole_part() const {
  if (exponent >= 0)
    return digits.empty() ? "0" : digits + std::string(static_cast<std::size_t>(exponent), '0');
  const auto behind = static_cast<std::size_t>(-exponent);
  return behind >= digits.size() ? "0" : digits.substr(0, digits.size() - behind);
}

std::string Decimal::fraction() const {
  if (exponent >= 0) return "";
  const auto behind = static_cast<std::size_t>(-exponent);
  return behind <= digits.size() ? digits.substr(digits.size() - behind)
                                 : std::string(behind - digits.size(), '0') + digits;
}

std::string Decimal::text() const {
  const std::string behind = fraction();
  return fmt::format("{}{}{}{}", negative ? "-" : "", whole_part(), behind.empty() ? "" : ".",
                     behind);
}

Decimal Decimal::operator-() const {
  Decimal d = *this;
  d.negative = !zero() && !negative;
  return d;
}

int compare(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative) return a.negative ? -1 : 1;
  const int sign = a.negative ? -1 : 1;
  if (a.zero() || b.zero()) return a.zero() && b.zero() ? 0 : a.zero() ? -sign : sign;
  // The position of the first digit decides, then the digits as texts.
  const long long top_a = a.exponent + static_cast<long long>(a.digits.size());
  const long long top_b = b.exponent + static_cast<long long>(b.digits.size());
  if (top_a != top_b) return top_a < top_b ? -sign : sign;
  return sign * a.digits.compare(b.digits);
}

std::u32string code_points(std::string_view utf8) {
  std::u32string codes;
  for (std::size_t at = 0; at < utf8.size();) {
    const Utf8Char c = decode_utf8(utf8, at);
    codes += c.code;
    at += c.length;
  }
  return codes;
}

}  // namespace weft::grammar
