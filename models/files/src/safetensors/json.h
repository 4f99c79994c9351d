#pragma once
// Foreign JSON: parsed within bounds, read by key with one clear error for what is not as it should
// be.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace weft::safetensors {

using Json = nlohmann::json;

// A file that is absent is nullopt; anything else that keeps it from being read is an IoError.
std::optional<std::string> read_text(const std::string& path, std::size_t max_bytes);

// Throws FormatError "FILE: is not JSON: ..." and for texts that would take far more memory than
// they are long. `distinct_keys`: no object may have a key twice (otherwise the last one counts).
Json parse_json(std::string_view text, const std::string& file, bool distinct_keys = false);

// One object of a file. Absent keys and null give nullopt; FormatError "FILE: 'K' must be a whole
// number, got a string" for other types. The value and the name of the file outlive it.
class JsonObject {
 public:
  // FormatError if the value is not an object. `where` precedes keys in messages:
  // "rope_scaling.".
  JsonObject(const Json& value, const std::string& file, std::string where = "");

  const Json* find(std::string_view key) const;  // null for absent and null
  std::optional<std::uint64_t> find_uint(std::string_view key) const;
  std::optional<double> find_number(std::string_view key) const;
  std::optional<bool> find_bool(std::string_view key) const;
  std::optional<std::string> find_string(std::string_view key) const;
  std::optional<JsonObject> find_object(std::string_view key) const;
  std::uint64_t uint(std::string_view key) const;  // FormatError if it is absent

  const Json& json() const { return *value_; }
  const std::string& file() const { return *file_; }
  std::string name(std::string_view key) const;  // for messages
  [[noreturn]] void mismatch(std::string_view key, std::string_view expected) const;

 private:
  const Json* value_;
  const std::string* file_;
  std::string where_;
};

}  // namespace weft::safetensors
