#include "weft/api/prompt_fields.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/api/errors.h"
#include "weft/api/forms.h"
#include "weft/run/model.h"
#include "weft/serve/prompt.h"

namespace weft::api {
namespace {

constexpr const char* kExpected = "a text, a list of token ids, or a list of those";

bool is_id(const Json& json) {
  return json.is_number_integer() && json.get<std::int64_t>() <= std::int64_t{1} << 30 &&
         json.get<std::int64_t>() >= -1;
}

PromptText read_ids(const Json& json, const Path& path, const Json& all) {
  PromptText prompt{.text = {}, .ids = {}, .is_ids = true};
  for (const Json& id : json) {
    if (!is_id(id)) refuse(path, kExpected, all);
    prompt.ids.push_back(id.get<TokenId>());
  }
  return prompt;
}

}  // namespace

Form<std::vector<PromptText>> prompts_form(std::size_t max) {
  return {kExpected,
          R"({"anyOf":[{"type":"string"},{"type":"array","items":{"anyOf":[{"type":"string"},)"
          R"({"type":"integer"},{"type":"array","items":{"type":"integer"}}]}}]})",
          kString | kArray, [max](const Json& json, const Path& path) {
            std::vector<PromptText> prompts;
            if (json.is_string()) {
              prompts.push_back({.text = json.get<std::string>(), .ids = {}});
              return prompts;
            }
            if (json.empty()) refuse(path, "must not be empty");
            if (json[0].is_number()) {
              prompts.push_back(read_ids(json, path, json));
              return prompts;
            }
            forms::check_size(json.size(), 1, max, path);
            for (const Json& item : json) {
              if (item.is_string())
                prompts.push_back({.text = item.get<std::string>(), .ids = {}});
              else if (item.is_array() && !item.empty())
                prompts.push_back(read_ids(item, path, json));
              else
                refuse(path, kExpected, json);
            }
            return prompts;
          }};
}

TokenId checked_token(const Model& model, std::int64_t id, std::string_view param) {
  const std::int64_t n_vocab = model.facts().n_vocab;
  if (id < 0 || id >= n_vocab)
    throw bad_request(std::string(param),
                      fmt::format("token {} is outside the vocabulary of {} tokens", id, n_vocab));
  return static_cast<TokenId>(id);
}

std::vector<TokenId> prompt_tokens(const ServedModel& model, const PromptText& prompt,
                                   const std::string& param) {
  if (!prompt.is_ids)
    return naming(param, [&] { return encode_prompt(*model.model, prompt.text); });
  for (const TokenId id : prompt.ids) checked_token(*model.model, id, param);
  if (prompt.ids.empty()) throw bad_request(param, "must have at least one token");
  return prompt.ids;
}

}  // namespace weft::api
