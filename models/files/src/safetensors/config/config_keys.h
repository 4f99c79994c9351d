#pragma once
// Writes values of config.json as the keys "ARCH.*" of GGUF files, by the tables of an
// architecture.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "weft/arch/hugging_face.h"
#include "weft/files/metadata.h"

#include "safetensors/json.h"

namespace weft::safetensors {

class ConfigKeys {
 public:
  // For a model of this type. REQUIRES: all outlive the object.
  ConfigKeys(const JsonObject& json, std::string_view type, std::string_view arch,
             MetadataSink& sink)
      : json_(json), type_(type), arch_(arch), sink_(sink) {}

  // Rows for keys that were added before have no effect. Throws FormatError for missing keys, wrong
  // types, and counts of 0 without which there is no model.
  void add(std::span<const arch::HfKey> table);

  void add_count(std::string_view key, std::uint64_t value, std::string_view hf_name);
  void add_number(std::string_view key, double value);
  void add_text(std::string_view key, std::string_view value);
  void add_flag(std::string_view key, bool value);
  void add_flags(std::string_view key, const std::vector<bool>& flags);

  // The value that was added; nullopt for other keys.
  std::optional<double> find(std::string_view key) const;
  bool has(std::string_view key) const { return done_.contains(key); }
  const JsonObject& json() const { return json_; }
  std::string_view type() const { return type_; }

 private:
  void add(const arch::HfKey& row);
  bool applies(const arch::HfKey& row) const;
  std::uint64_t checked_count(const arch::HfKey& row) const;
  std::uint64_t count(const arch::HfKey& row) const;
  double number(const arch::HfKey& row) const;
  bool flag(const arch::HfKey& row) const;
  std::uint64_t word(const arch::HfKey& row) const;
  std::string text(const arch::HfKey& row) const;
  std::string name(std::string_view key) const;

  const JsonObject& json_;
  std::string_view type_, arch_;
  MetadataSink& sink_;
  std::map<std::string, double, std::less<>> done_;
};

}  // namespace weft::safetensors
