// Walks the tables of every architecture: each key of config.json is honoured, checked or known to
// be harmless, and others are refused.

#include "safetensors/config/known_keys.h"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "weft/arch/builder.h"

#include "safetensors/config/config_texts.h"

namespace weft {
namespace {

using safetensors::Json;
using test::refusal_of;
using test::texts_of;
using test::with;
using Kind = arch::HfKey::Kind;
using IfAbsent = arch::HfKey::IfAbsent;

// As a model of this type, if it is not empty.
Json of_type(const Json& config, std::string_view type) {
  return type.empty() ? config : with(config, "model_type", type);
}

Json sample(const arch::HfKey& row, bool other = false) {
  switch (row.kind) {
    case Kind::count:
      return other ? 6U : 4U;
    case Kind::number:
    case Kind::inverse_root:
      return other ? 0.25 : 0.5;
    case Kind::flag:
      return other;
    case Kind::word:
      return std::string(row.words[other ? 1 : 0]);
    case Kind::text:
      return other ? "gelu_new" : "gelu";
    case Kind::none:
      break;
  }
  return nullptr;
}

// A configuration with the keys that the architecture must have.
Json smallest(const arch::HuggingFace& tables) {
  Json config = {{"model_type", tables.types[0]}, {"max_position_embeddings", 4U}};
  if (!safetensors::is_known_key(tables, "max_position_embeddings"))
    config.erase("max_position_embeddings");
  if (!tables.flag.empty()) config[std::string(tables.flag)] = true;
  for (const auto& rows : {tables.keys, arch::usual_hf_keys()}) {
    for (const arch::HfKey& row : rows) {
      if (row.hf_name.empty() || row.if_absent != IfAbsent::refuse || !row.when.empty() ||
          !safetensors::is_known_key(tables, row.hf_name))
        continue;
      config.emplace(row.hf_name, sample(row));
      if (!row.plus.empty()) config.emplace(row.plus, 4U);
    }
  }
  for (const arch::HfSetting& setting : tables.settings) {
    if (setting.required) config.emplace(setting.hf_name, Json::parse(setting.values[0]));
  }
  // transformers rotates nothing if the key is absent, and Weft refuses that.
  if (tables.usual_rope_share == 0) config.emplace(tables.rope_share, 1.0);
  return config;
}

template <class Use>
void for_each_table(const Use& use) {
  for (const arch::Architecture* architecture : arch::architectures()) {
    const arch::HuggingFace& tables = architecture->hugging_face;
    if (tables.types[0].empty()) continue;
    INFO(std::string(architecture->name));
    use(tables, smallest(tables));
  }
}

bool is_checked(const arch::HuggingFace& tables, std::string_view key) {
  return std::ranges::find(tables.settings, key, &arch::HfSetting::hf_name) !=
         tables.settings.end();
}

// Another value changes the result.
void check_row(const arch::HfKey& row, Json config) {
  INFO(std::string(row.hf_name));
  config = of_type(config, row.type);
  if (!row.when.empty()) config[std::string(row.when)] = true;
  const auto a = texts_of(with(config, row.hf_name, sample(row)));
  const auto b = texts_of(with(config, row.hf_name, sample(row, true)));
  CHECK(a != b);
}

}  // namespace

TEST_CASE("every key that an architecture reads is honoured") {
  for_each_table([](const arch::HuggingFace& tables, const Json& config) {
    REQUIRE(refusal_of(config) == "");
    for (const auto& rows : {tables.keys, arch::usual_hf_keys()}) {
      for (const arch::HfKey& row : rows) {
        const bool read = !row.hf_name.empty() && row.kind != Kind::none &&
                          safetensors::is_known_key(tables, row.hf_name) &&
                          !is_checked(tables, row.hf_name) &&
                          std::ranges::find(tables.ignored, row.hf_name) == tables.ignored.end();
        if (read) check_row(row, config);
      }
    }
  });
}

TEST_CASE("every setting has the values that an architecture computes, or is refused by name") {
  for_each_table([](const arch::HuggingFace& tables, const Json& config) {
    for (const auto& settings : {tables.settings, arch::usual_hf_settings()}) {
      for (const arch::HfSetting& setting : settings) {
        INFO(std::string(setting.hf_name));
        const std::string refused = fmt::format("'{}' is \"other\"", setting.hf_name);
        const Json typed = of_type(config, setting.type);
        const Json other = with(typed, setting.hf_name, "other");
        CHECK(refusal_of(other).find(refused) != std::string::npos);
        CHECK(refusal_of(other, true).find(refused) != std::string::npos);
        if (settings.data() != tables.settings.data()) continue;
        CHECK((refusal_of(with(typed, setting.hf_name, nullptr)) == "") == !setting.required);
        for (const std::string_view value : setting.values) {
          if (value.empty()) continue;
          CHECK(refusal_of(with(typed, setting.hf_name, Json::parse(value))) == "");
        }
      }
    }
    CHECK(refusal_of(with(config, "hidden_act", "other")).find("'hidden_act' is \"other\"") !=
          std::string::npos);
  });
}

TEST_CASE("harmless settings change nothing") {
  for_each_table([](const arch::HuggingFace& tables, const Json& config) {
    const auto plain = texts_of(config);
    for (const auto& ignored : {tables.ignored, arch::usual_hf_ignored()}) {
      for (const std::string_view key : ignored) {
        INFO(std::string(key));
        const bool is_read =
            std::ranges::find(tables.keys, key, &arch::HfKey::hf_name) != tables.keys.end();
        if (is_read || is_checked(tables, key)) continue;  // a row of the architecture comes first
        CHECK(texts_of(with(config, key, 3)) == plain);
      }
    }
  });
}

TEST_CASE("unknown settings are refused by name unless they are off or allowed") {
  for_each_table([](const arch::HuggingFace&, const Json& config) {
    const auto plain = texts_of(config);
    const Json off[] = {nullptr, false, 0, 0.0, "", Json::array(), Json::object()};
    for (const Json& value : off) CHECK(texts_of(with(config, "novel_mask", value)) == plain);
    for (const Json& value : {Json(true), Json(2), Json("all"), Json::array({1})}) {
      const Json novel = with(config, "novel_mask", value);
      CHECK(refusal_of(novel) == fmt::format("config.json: 'novel_mask' is {}, a setting that Weft "
                                             "does not know and that may change what the model "
                                             "computes; --allow-unknown-settings ignores it",
                                             value.dump()));
      CHECK(texts_of(novel, true) == plain);
    }
  });
}

TEST_CASE("settings of rope are on the list, too") {
  const auto all = arch::architectures();
  const Json llama =
      smallest((*std::ranges::find(all, "llama", &arch::Architecture::name))->hugging_face);
  const Json linear = {{"type", "linear"}, {"factor", 2.0}, {"turns", 3}};
  const Json novel = with(llama, "rope_scaling", linear);
  CHECK(refusal_of(novel).find("'rope_scaling.turns' is 3, a setting") != std::string::npos);
  CHECK(refusal_of(novel, true) == "");
  const Json parts = {{"full_attention", {{"rope_type", "default"}, {"rope_theta", 1e6}}},
                      {"sliding_attention", {{"rope_type", "linear"}, {"factor", 8.0}}}};
  CHECK(refusal_of(with(llama, "rope_parameters", parts)) ==
        "config.json: 'rope_parameters.sliding_attention.rope_type' is 'linear', which is not "
        "supported");
}

}  // namespace weft
