#include "safetensors/json.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/base/read_file.h"
#include "weft/base/text.h"
#include "weft/base/text_file.h"
#include "weft/files/checkpoint.h"

#include "lfs_pointer.h"

namespace weft::safetensors {
namespace {

// A parsed value takes up to about sixty bytes, and one of these characters separates two values.
// The largest vocabularies in use have about two million values.
constexpr std::int64_t kMaxMarks = std::int64_t{8} << 20;

// Files need about six levels. Printing a value in a message takes stack by depth.
constexpr int kMaxNested = 64;

void check_depth(std::string_view text, const std::string& file) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == '[' || c == '{')) {
      if (++depth > kMaxNested)
        fail<FormatError>("{}: nested more than {} deep", printable_path(file), kMaxNested);
    } else if (!in_string && (c == ']' || c == '}')) {
      --depth;
    }
  }
}

// The text with NaN, Infinity and -Infinity, which Python writes and JSON lacks, as strings. They
// are refused if they are read as numbers, and harmless otherwise.
std::string with_quoted_constants(std::string_view text) {
  std::string out;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    std::size_t n = in_string && c == '\\' ? 2 : 1;
    bool constant = false;
    if (c == '"') in_string = !in_string;
    for (const std::string_view name : {"NaN", "Infinity", "-Infinity"}) {
      if (in_string || !text.substr(i).starts_with(name)) continue;
      constant = true;
      n = name.size();
    }
    if (constant) out += '"';
    out += text.substr(i, n);
    if (constant) out += '"';
    i += n;
  }
  return out;
}

// Vocabularies hold these words as texts, so a copy is made only if the text is not JSON.
Json parse_python(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error&) {
    return Json::parse(with_quoted_constants(text));
  }
}

void check_marks(std::string_view text, const std::string& file) {
  const auto marks = std::ranges::count_if(
      text, [](char c) { return c == ',' || c == ':' || c == '[' || c == '{'; });
  if (marks > kMaxMarks) {
    fail<FormatError>("{}: has more than {} values", printable_path(file), kMaxMarks);
  }
}

// The keys of all open objects.
class DistinctKeys {
 public:
  explicit DistinctKeys(const std::string& file) : file_(file) {}

  bool operator()(int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open_.emplace_back();
    if (event == Json::parse_event_t::object_end) open_.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!open_.back().insert(key).second) {
        fail<FormatError>("{}: key '{}' appears twice", printable_path(file_), printable(key));
      }
    }
    return true;
  }

 private:
  const std::string& file_;
  std::vector<std::set<std::string>> open_;
};

}  // namespace

std::optional<std::string> read_text(const std::string& path, std::size_t max_bytes) {
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) return std::nullopt;
  const std::string text = read_file(path, max_bytes, SpecialFiles::refuse);
  files::refuse_lfs_pointer(std::as_bytes(std::span(text)), path);
  return std::string(without_byte_order_mark(text));
}

Json parse_json(std::string_view text, const std::string& file, bool distinct_keys) {
  check_marks(text, file);
  check_depth(text, file);
  try {
    return distinct_keys ? Json::parse(text, DistinctKeys(file)) : parse_python(text);
  } catch (const Json::exception& e) {
    fail<FormatError>("{}: not JSON: {}", printable_path(file),
                      printable(without_json_id(e.what()), 300));
  }
}

JsonObject::JsonObject(const Json& value, const std::string& file, std::string where)
    : value_(&value), file_(&file), where_(std::move(where)) {
  if (value.is_object()) return;
  fail<FormatError>("{}: {} must be an object, got {}", printable_path(file),
                    where_.empty() ? "the text" : "'" + where_ + "'", value.type_name());
}

std::string JsonObject::name(std::string_view key) const {
  return where_.empty() ? printable(key) : where_ + "." + printable(key);
}

const Json* JsonObject::find(std::string_view key) const {
  const auto found = value_->find(key);
  return found == value_->end() || found->is_null() ? nullptr : &*found;
}

void JsonObject::mismatch(std::string_view key, std::string_view expected) const {
  const Json* value = find(key);
  std::string got = value ? std::string(value->type_name()) : "nothing";
  if (value && value->is_number()) got = value->dump();
  fail<FormatError>("{}: '{}' must be {}, got {}", printable_path(*file_), name(key), expected,
                    got);
}

std::optional<std::uint64_t> JsonObject::find_uint(std::string_view key) const {
  const Json* value = find(key);
  if (!value) return std::nullopt;
  if (value->is_number_unsigned()) return value->get<std::uint64_t>();
  mismatch(key, "a whole number");
}

std::optional<double> JsonObject::find_number(std::string_view key) const {
  const Json* value = find(key);
  if (!value) return std::nullopt;
  if (value->is_number()) return value->get<double>();
  mismatch(key, "a number");
}

std::optional<bool> JsonObject::find_bool(std::string_view key) const {
  const Json* value = find(key);
  if (!value) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  mismatch(key, "true or false");
}

std::optional<std::string> JsonObject::find_string(std::string_view key) const {
  const Json* value = find(key);
  if (!value) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  mismatch(key, "a string");
}

std::optional<JsonObject> JsonObject::find_object(std::string_view key) const {
  const Json* value = find(key);
  if (!value) return std::nullopt;
  return JsonObject(*value, *file_, name(key));
}

std::uint64_t JsonObject::uint(std::string_view key) const {
  if (const auto value = find_uint(key)) return *value;
  fail<FormatError>("{}: '{}' is missing", printable_path(*file_), name(key));
}

}  // namespace weft::safetensors
