#include "weft/api/json.h"

#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

#include "weft/api/errors.h"
#include "weft/base/json_string.h"
#include "weft/base/keyed_hash.h"

namespace weft::api {
namespace {

// Line and column, both from 1, of a byte. Columns count characters.
std::string position(std::string_view text, std::size_t at) {
  at = std::min(at, text.size());
  const std::string_view before = text.substr(0, at);
  const auto lines = std::ranges::count(before, '\n');
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 = 0
  const auto column =
      std::ranges::count_if(before.substr(line_begin), [](char c) { return (c & 0xC0) != 0x80; });
  return fmt::format("line {}, column {}", lines + 1, column + 1);
}

// The library's description of the error, without its own numbers and positions.
std::string problem_of(std::string_view message) {
  const std::size_t what = message.find("; last read");
  const std::size_t dash = message.find(" - ");
  if (dash != message.npos) {
    std::string text(message.substr(dash + 3, what == message.npos ? what : what - dash - 3));
    if (const std::size_t expected = message.find("; expected "); expected != message.npos)
      text += ", " + std::string(message.substr(expected + 2));
    return text;
  }
  const std::size_t bracket = message.find("] ");
  return std::string(bracket == message.npos ? message : message.substr(bracket + 2));
}

// Builds the value from the events of the parser. Parsing does not recurse.
class Builder : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(std::string_view text, Taken* memory = nullptr) : text_(text), memory_(memory) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override {
    replace_nul(value);
    take(kNode + value.size());
    return add(std::move(value));
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    replace_nul(name);
    Level& level = levels_.back();
    if (!is_new(level, name))
      refuse(fmt::format("duplicate name {} in an object", json_string(name.substr(0, 80))));
    take(kNode + name.size());
    level.value->get_ref<Json::object_t&>().push_back({std::move(name), nullptr});
    return true;
  }
  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception& e) override {
    throw bad_request("", fmt::format("the body is not JSON: {}, {}",
                                      position(text_, at == 0 ? 0 : at - 1), problem_of(e.what())));
  }

  Json root() { return std::move(root_); }
  std::int64_t n_bytes() const { return n_bytes_; }  // about what the value takes

 private:
  struct Level {
    Json* value;
    ForeignSet<std::string> names = {};  // once there are many
  };
  static constexpr std::size_t kManyNames = 16;
  // A value in a container that grows by doubling; what it points to, allocated.
  static constexpr std::size_t kValue = 2 * sizeof(Json), kNode = 48;
  static constexpr std::int64_t kStep = 64 << 10;  // bytes that are taken at a time

  [[noreturn]] static void refuse(const std::string& problem) {
    throw bad_request("", "the body is not accepted: " + problem);
  }

  static void replace_nul(std::string& text) {
    for (std::size_t at = text.find('\0'); at != text.npos; at = text.find('\0', at))
      text.replace(at, 1, "\xEF\xBF\xBD");
  }

  static bool is_new(Level& level, const std::string& name) {
    const auto& members = level.value->get_ref<const Json::object_t&>();
    if (members.size() < kManyNames)
      return std::ranges::none_of(members, [&](const auto& m) { return m.first == name; });
    if (level.names.empty())
      for (const auto& member : members) level.names.insert(member.first);
    return level.names.insert(name).second;
  }

  void take(std::size_t n_bytes) {
    n_bytes_ += static_cast<std::int64_t>(n_bytes);
    if (memory_ && n_bytes_ > memory_->bytes()) memory_->require(n_bytes_ + kStep);
  }

  Json& place(Json value) {
    take(kValue + (value.is_structured() ? kNode : 0));
    if (++n_values_ > kMaxJsonValues) refuse(fmt::format("more than {} values", kMaxJsonValues));
    if (levels_.empty()) return root_ = std::move(value);
    Json& in = *levels_.back().value;
    if (in.is_array()) return in.get_ref<Json::array_t&>().emplace_back(std::move(value));
    return in.get_ref<Json::object_t&>().back().second = std::move(value);
  }
  bool add(Json value) {
    place(std::move(value));
    return true;
  }
  // Values in a container stay where they are until the container is closed: only the innermost
  // one grows.
  bool open(Json value) {
    if (levels_.size() >= kMaxJsonDepth)
      refuse(fmt::format("values are nested more than {} deep", kMaxJsonDepth));
    levels_.push_back({&place(std::move(value))});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return true;
  }

  std::string_view text_;
  Json root_;
  std::vector<Level> levels_;
  std::size_t n_values_ = 0;
  Taken* memory_;
  std::int64_t n_bytes_ = 0;
};

Json parsed(std::string_view text, Taken* memory) {
  constexpr std::ptrdiff_t kSmall = 64 << 10;
  // The parser has the text of a string twice, in buffers that grow by doubling.
  if (memory && std::ssize(text) > kSmall) memory->require(3 * std::ssize(text));
  Builder builder(text, memory);
  Json::sax_parse(text.begin(), text.end(), &builder);
  if (memory) memory->set(builder.n_bytes());
  return builder.root();
}

}  // namespace

Json parse_json(std::string_view text) {
  return parsed(text, nullptr);
}

Json parse_body(std::string_view text, Taken* memory) {
  Json json = parsed(text, memory);
  if (!json.is_object())
    throw bad_request("", fmt::format("the body must be a JSON object, got {}", json.type_name()));
  return json;
}

std::string to_text(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

std::string merge_objects(std::string_view first, std::string_view second) {
  if (first.empty() || second.empty()) return std::string(first.empty() ? second : first);
  Json all = Json::parse(first);
  all.update(Json::parse(second));
  return to_text(all);
}

}  // namespace weft::api
