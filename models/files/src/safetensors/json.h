#pragma once
// Untrusted JSON: parsed with limits, read by key with clear errors.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace weft::safetensors {

using Json = nlohmann::json;

// Returns nullopt for a missing file. Throws IoError for all other read errors.
std::optional<std::string> read_text(const std::string& path, std::size_t max_bytes);

// Throws FormatError "FILE: not JSON: ...", also for texts that would need far more memory than
// their length. `distinct_keys`: refuse objects with duplicate keys (otherwise the last one
// counts). NaN, Infinity and -Infinity become strings, unless keys must be distinct.
Json parse_json(std::string_view text, const std::string& file, bool distinct_keys = false);

// One object of a file. Reads of absent keys and null return nullopt; other types throw FormatError
// "FILE: 'K' must be a whole number, got a string". The value and the name of the file outlive it.
class JsonObject {
 public:
  // Throws FormatError if the value is not an object. `where` precedes keys in messages:
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
