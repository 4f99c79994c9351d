#include "weft/api/mixed_prompt.h"

#include <algorithm>

#include "weft/api/errors.h"
#include "weft/api/interface_forms.h"
#include "weft/api/prompt_fields.h"
#include "weft/tokenize/tokenizer.h"

namespace weft::api {
namespace {

constexpr std::size_t kMaxPrompts = 1024;
constexpr std::int64_t kMaxId = std::numeric_limits<TokenId>::max();

Form<PromptPart> part() {
  const auto as_part = [](auto value) { return PromptPart(std::move(value)); };
  return either(convert<PromptPart>(text(), as_part),
                convert<PromptPart>(whole(0, kMaxId), as_part));
}

Form<MixedPrompt> text_prompt() {
  return convert<MixedPrompt>(text(),
                              [](std::string text) { return MixedPrompt{std::move(text)}; });
}

// An element of a list: part of one prompt, or a prompt.
struct Element {
  MixedPrompt prompt;
  bool is_id = false, is_list = false;
};

Form<Element> element() {
  const auto of_part = [](PromptPart part) {
    const bool is_id = std::holds_alternative<std::int64_t>(part);
    return Element{{std::move(part)}, is_id, false};
  };
  const auto of_list = [](MixedPrompt parts) { return Element{std::move(parts), false, true}; };
  return either(convert<Element>(part(), of_part), convert<Element>(list(part(), 1), of_list));
}

std::vector<MixedPrompt> as_prompts(std::vector<Element> elements, const Path& path) {
  const bool one = std::ranges::any_of(elements, &Element::is_id);
  if (!one && elements.size() > kMaxPrompts)
    refuse(path, fmt::format("may have at most {} prompts, got {}", kMaxPrompts, elements.size()));
  std::vector<MixedPrompt> prompts(one ? 1 : 0);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (one && elements[i].is_list) refuse(path.item(i), "expected a text or an id, got a list");
    if (one)
      prompts[0].push_back(std::move(elements[i].prompt[0]));
    else
      prompts.push_back(std::move(elements[i].prompt));
  }
  return prompts;
}

}  // namespace

Form<std::vector<MixedPrompt>> mixed_prompts() {
  const auto only = [](MixedPrompt prompt) { return std::vector<MixedPrompt>{std::move(prompt)}; };
  return either(convert<std::vector<MixedPrompt>>(text_prompt(), only),
                checked<std::vector<MixedPrompt>>(list(element(), 1), as_prompts));
}

std::vector<TokenId> checked_ids(const Model& model, const std::vector<std::int64_t>& ids,
                                 const std::string& param) {
  std::vector<TokenId> tokens;
  for (const std::int64_t id : ids) tokens.push_back(checked_token(model, id, param));
  return tokens;
}

std::vector<TokenId> encode_parts(const Model& model, const MixedPrompt& prompt, bool add_special,
                                  const std::string& param) {
  std::vector<TokenId> tokens;
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    std::vector<TokenId> more;
    if (const auto* text = std::get_if<std::string>(&prompt[i]))
      more = model.tokenizer().encode(
          *text, {.add_special = add_special && i == 0, .parse_special = true});
    else
      more = checked_ids(model, {std::get<std::int64_t>(prompt[i])}, param);
    tokens.insert(tokens.end(), more.begin(), more.end());
  }
  return tokens;
}

std::vector<TokenId> encode_mixed(const Model& model, const MixedPrompt& prompt,
                                  const std::string& param) {
  std::vector<TokenId> tokens = encode_parts(model, prompt, /*add_special=*/true, param);
  if (!tokens.empty()) return tokens;
  const SpecialTokens& special = model.vocabulary().special();
  const TokenId begin = special.bos != kNoToken ? special.bos : special.eos;
  if (begin == kNoToken) throw bad_request(param, "the prompt is empty");
  return {begin};
}

}  // namespace weft::api
