#include "arguments.h"

#include <nlohmann/json.hpp>

#include "weft/base/text.h"

namespace weft::chat {
namespace {

using Json = nlohmann::ordered_json;

// Reads JSON that may end anywhere, and knows how to close it.
class TruncatedJson {
 public:
  explicit TruncatedJson(std::string_view text) : text_(text) {
    for (std::size_t i = 0; i < text.size(); ++i) in_string_ ? string(i) : other(i);
  }

  // With the string that is open, and the brackets.
  std::string closed() const {
    std::string out(text_.substr(0, escape_ != npos ? escape_ : text_.size()));
    if (in_string_) out += '"';
    return out + ends(open_);
  }
  // Without the last, incomplete member.
  std::string shortened() const { return std::string(text_.substr(0, complete_)) + ends(open_); }

 private:
  static constexpr std::size_t npos = std::string_view::npos;

  static std::string ends(std::string_view open) {
    std::string out;
    for (std::size_t i = open.size(); i-- > 0;) out += open[i] == '{' ? '}' : ']';
    return out;
  }

  void string(std::size_t i) {
    const char c = text_[i];
    if (escape_ != npos) {
      const std::size_t n = text_[escape_ + 1] == 'u' ? 5 : 1;
      if (i == escape_ + n) escape_ = npos;
    } else if (c == '\\') {
      escape_ = i;
    } else if (c == '"') {
      in_string_ = false;
    }
  }

  void other(std::size_t i) {
    const char c = text_[i];
    if (c == '"') in_string_ = true;
    if (c == '{' || c == '[') open_ += c;
    if ((c == '}' || c == ']') && !open_.empty()) open_.pop_back();
    if (c != ',' && std::string_view("{[}]").find(c) == npos) return;
    complete_ = c == ',' ? i : i + 1;
  }

  std::string_view text_;
  std::string open_;  // brackets; changes only at a bracket, where complete_ is set as well
  std::size_t complete_ = 0;
  std::size_t escape_ = npos;  // where an incomplete escape begins
  bool in_string_ = false;
};

}  // namespace

bool is_json_object(std::string_view json) {
  return trim(json).starts_with('{') && Json::accept(json);
}

std::string repaired_arguments(std::string_view text) {
  std::string inner(text);
  if (trim(text).starts_with('"')) {
    const Json whole = Json::parse(text, nullptr, false);
    if (whole.is_string()) inner = whole.get<std::string>();
  }
  if (is_json_object(inner)) return inner;
  const TruncatedJson truncated(inner);
  for (const std::string& json : {truncated.closed(), truncated.shortened()})
    if (is_json_object(json)) return json;
  return "{}";
}

}  // namespace weft::chat
