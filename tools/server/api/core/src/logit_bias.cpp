#include "logit_bias.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <unordered_map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/api/errors.h"
#include "weft/api/prompt_fields.h"
#include "weft/base/text.h"
#include "weft/run/model.h"
#include "weft/tokenize/tokenizer.h"

namespace weft::api {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr std::size_t kMaxBiases = 4096;

float bias_value(const Json& value, double limit, const Path& path, const Json& whole_field) {
  if (value.is_boolean() && !value.get<bool>()) return kNever;
  if (!value.is_number() || !(std::abs(value.get<double>()) <= limit))
    refuse(path, fmt::format("biases from {} to {}, or false", -limit, limit), whole_field);
  return value.get<float>();
}

// The name of a member: an id in digits, or a text.
TokenBias named_token(const std::string& name) {
  const std::string_view digits = std::string_view(name).substr(name.starts_with('-') ? 1 : 0);
  if (digits.empty() || !std::ranges::all_of(digits, is_digit)) return {.text = name};
  TokenBias token;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), token.id);
  if (error != std::errc()) token.id = std::numeric_limits<std::int64_t>::max();
  return token;
}

TokenBias token_of_pair(const Json& json) {
  if (json.is_string()) return {.text = json.get<std::string>()};
  const bool large = json.is_number_unsigned() &&
                     json.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max();
  return {.id = large ? std::numeric_limits<std::int64_t>::max() : json.get<std::int64_t>()};
}

}  // namespace

Form<Bias> bias_form(double limit) {
  const std::string expected = "an object of token ids or texts with their biases, or pairs";
  return {expected,
          R"({"anyOf":[{"type":"object","additionalProperties":{"type":["number","boolean"]}},)"
          R"({"type":"array","items":{"type":"array","minItems":2,"maxItems":2}}]})",
          kObject | kArray, [expected, limit](const Json& json, const Path& path) {
            forms::check_size(json.size(), 0, kMaxBiases, path);
            Bias biases;
            const auto add = [&](TokenBias token, const Json& value) {
              if (token.id < 0 && token.text.empty()) refuse(path, expected, json);
              token.bias = bias_value(value, limit, path, json);
              biases.push_back(std::move(token));
            };
            if (json.is_object()) {
              for (const auto& [name, value] : json.get_ref<const Json::object_t&>())
                add(named_token(name), value);
              return biases;
            }
            for (const Json& pair : json) {
              const bool is_pair = pair.is_array() && pair.size() == 2 &&
                                   (pair[0].is_number_integer() || pair[0].is_string());
              if (!is_pair) refuse(path, expected, json);
              add(token_of_pair(pair[0]), pair[1]);
            }
            return biases;
          }};
}

std::vector<std::pair<TokenId, float>> token_biases(const Model& model, const Bias& given,
                                                    std::string_view param) {
  std::vector<std::pair<TokenId, float>> biases;
  std::unordered_map<TokenId, std::size_t> places;
  const auto add = [&](TokenId id, float bias) {
    const auto [at, is_new] = places.try_emplace(id, biases.size());
    if (is_new)
      biases.emplace_back(id, bias);
    else
      biases[at->second].second += bias;
    return is_new;
  };
  for (const TokenBias& token : given) {
    if (!token.text.empty()) continue;
    const TokenId id = checked_token(model, token.id, param);
    if (!add(id, token.bias))
      throw bad_request(std::string(param), fmt::format("duplicate token {}", id));
  }
  for (const TokenBias& token : given) {
    if (token.text.empty()) continue;
    const std::vector<TokenId> ids = model.tokenizer().encode(token.text, {.add_special = false});
    for (const TokenId id : std::set<TokenId>(ids.begin(), ids.end())) add(id, token.bias);
  }
  return biases;
}

}  // namespace weft::api
