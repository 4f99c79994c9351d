#pragma once
// For tests: the metadata of a config.json, as text.

#include <map>
#include <string>
#include <string_view>

#include "weft/base/error.h"

#include "safetensors/config/config.h"

namespace weft::test {

using safetensors::Json;
using safetensors::JsonObject;

// Keeps single values as text.
struct TextSink : MetadataSink {
  void add(std::string_view key, const MetaValue& value) override {
    std::string& text = texts[std::string(key)];
    if (const auto* n = std::get_if<std::uint64_t>(&value.value)) text = fmt::format("{}", *n);
    if (const auto* x = std::get_if<double>(&value.value))
      text = fmt::format("{}", static_cast<float>(*x));
    if (const auto* b = std::get_if<bool>(&value.value)) text = fmt::format("{}", *b);
    if (const auto* s = std::get_if<std::string_view>(&value.value)) text = *s;
  }
  std::map<std::string, std::string> texts;
};

inline std::map<std::string, std::string> texts_of(const Json& config, bool allow = false) {
  TextSink sink;
  const std::string file = "config.json";
  const Json parsed = Json::parse(config.dump());  // whole numbers become those of files
  safetensors::read_config(JsonObject(parsed, file), "", sink, {allow});
  return sink.texts;
}

inline std::string refusal_of(const Json& config, bool allow = false) {
  try {
    texts_of(config, allow);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

inline Json with(const Json& config, std::string_view key, const Json& value) {
  Json changed = config;
  changed[std::string(key)] = value;
  return changed;
}

}  // namespace weft::test
