#include "weft/api/infill_prompt.h"

#include <utility>

#include "weft/api/errors.h"
#include "weft/run/model.h"
#include "weft/tokenize/tokenizer.h"
#include "weft/tokenize/vocabulary.h"

namespace weft::api {
namespace {

class Tokens {
 public:
  explicit Tokens(const Model& model) : tokenizer_(model.tokenizer()) {}
  void add(TokenId id) {
    if (id != kNoToken) tokens.push_back(id);
  }
  void add(std::string_view text) { add(tokenizer_.encode(text, {.add_special = false})); }
  void add(std::span<const TokenId> more) { tokens.insert(tokens.end(), more.begin(), more.end()); }
  std::vector<TokenId> tokens;

 private:
  const Tokenizer& tokenizer_;
};

// Repositories as in Qwen2.5-Coder, https://arxiv.org/abs/2409.12186, section 3.2.
void add_files(Tokens& out, const SpecialTokens& special, const std::vector<InfillFile>& files) {
  if (files.empty()) return;
  if (special.fim_rep != kNoToken) {
    out.add(special.fim_rep);
    out.add("repository\n");
  }
  for (const InfillFile& file : files) {
    out.add(special.fim_sep);
    out.add((special.fim_sep == kNoToken ? "\n--- " : "") + file.name + "\n");
    out.add(file.text);
  }
  out.add(special.fim_sep);
  out.add(special.fim_sep == kNoToken ? "\n" : "filename\n");
}

// Whether the vocabulary has the tokens for it.
bool can_infill(const Model& model) {
  if (!model.has_tokenizer()) return false;
  const SpecialTokens& special = model.vocabulary().special();
  return special.fim_pre != kNoToken && special.fim_suf != kNoToken && special.fim_mid != kNoToken;
}

}  // namespace

std::vector<TokenId> infill_prompt(const ServedModel& served, const InfillText& text) {
  const Model& model = *served.model;
  if (!can_infill(model))
    throw not_supported(
        "infill: the model's vocabulary has no tokens for prefix, suffix and middle");
  const SpecialTokens& special = model.vocabulary().special();
  const TokenId opening = model.vocabulary().opening();
  std::vector<TokenId> ids;
  if (text.prefix.is_ids) ids = prompt_tokens(served, text.prefix, "prompt");
  const bool ids_begin = !ids.empty() && (ids.front() == opening || ids.front() == special.bos);
  Tokens out(model);
  if (ids_begin) out.add(ids.front());
  if (!text.prefix.is_ids) out.add(opening);
  add_files(out, special, text.files);
  out.add(special.fim_pre);
  out.add(text.prefix.text);
  out.add(std::span(ids).subspan(ids_begin ? 1 : 0));
  out.add(special.fim_suf);
  out.add(text.suffix);
  out.add(special.fim_mid);
  out.add(text.after_prefix);
  return std::move(out.tokens);
}

std::vector<TokenId> infill_prompt_of_suffix(const ServedModel& model, PromptText prefix,
                                             std::string_view suffix) {
  if (!can_infill(*model.model))
    throw bad_request("suffix", "the model has no tokens for filling in text");
  return naming("suffix", [&] {
    return infill_prompt(model, {.prefix = std::move(prefix), .suffix = suffix});
  });
}

}  // namespace weft::api
