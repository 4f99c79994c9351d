#include "given_json.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/keyed_hash.h"
#include "weft/base/text.h"

namespace weft::chat {
namespace {

using Json = nlohmann::ordered_json;

// Builds the value from the events of the parser.
class Builder : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(std::string_view what) : what_(what) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    Level& level = levels_.back();
    auto& members = level.value->get_ref<Json::object_t&>();
    level.member = index_of(level, name);
    if (level.member == members.size()) members.push_back({std::move(name), nullptr});
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& e) override {
    fail<FormatError>("{} is not JSON: {}", what_, without_json_id(e.what()));
  }

  Json take() { return std::move(root_); }

 private:
  struct Level {
    Json* value;
    std::size_t member = 0;                           // the member of the next value
    ForeignMap<std::string, std::size_t> index = {};  // once there are many members
  };
  static constexpr std::size_t kManyMembers = 16;

  // The index of the member with that name, or of a new one.
  static std::size_t index_of(Level& level, const std::string& name) {
    const auto& members = level.value->get_ref<const Json::object_t&>();
    if (members.size() < kManyMembers) {
      const auto at = std::ranges::find_if(members, [&](const auto& m) { return m.first == name; });
      return static_cast<std::size_t>(at - members.begin());
    }
    for (std::size_t i = level.index.size(); i < members.size(); ++i)
      level.index.emplace(members.begin()[static_cast<std::ptrdiff_t>(i)].first, i);
    const auto at = level.index.find(name);
    return at == level.index.end() ? members.size() : at->second;
  }

  Json& place(Json value) {
    if (levels_.empty()) return root_ = std::move(value);
    Json& in = *levels_.back().value;
    if (in.is_array()) return in.get_ref<Json::array_t&>().emplace_back(std::move(value));
    auto& members = in.get_ref<Json::object_t&>();
    return members.begin()[static_cast<std::ptrdiff_t>(levels_.back().member)].second =
               std::move(value);
  }
  bool add(Json value) {
    place(std::move(value));
    return true;
  }
  // Values in a container stay where they are until the container is closed: only the innermost
  // one grows.
  bool open(Json value) {
    levels_.push_back({&place(std::move(value))});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return true;
  }

  std::string_view what_;
  Json root_;
  std::vector<Level> levels_;
};

}  // namespace

Json parse_given(std::string_view what, std::string_view json) {
  Builder builder(what);
  Json::sax_parse(json, &builder);
  return builder.take();
}

void check_given(std::string_view what, std::string_view json) {
  if (!Json::accept(json)) parse_given(what, json);
}

}  // namespace weft::chat
