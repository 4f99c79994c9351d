#include "api/native/infill_prompt.h"

#include "weft/tokenize/tokenizer.h"

#include "api/errors.h"

namespace weft::api {
namespace {

class Tokens {
 public:
  explicit Tokens(const Model& model) : tokenizer_(model.tokenizer()) {}
  void add(TokenId id) {
    if (id != kNoToken) tokens.push_back(id);
  }
  void add(std::string_view text) {
    const std::vector<TokenId> more = tokenizer_.encode(text, {.add_special = false});
    tokens.insert(tokens.end(), more.begin(), more.end());
  }
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

}  // namespace

bool can_infill(const Model& model) {
  const SpecialTokens& special = model.vocabulary().special();
  return model.has_tokenizer() && special.fim_pre != kNoToken && special.fim_suf != kNoToken &&
         special.fim_mid != kNoToken;
}

std::vector<TokenId> infill_prompt(const Model& model, const InfillText& text) {
  if (!can_infill(model))
    throw not_supported(
        "infill: the model's vocabulary has no tokens for prefix, suffix and middle");
  const SpecialTokens& special = model.vocabulary().special();
  Tokens out(model);
  if (model.vocabulary().flags().add_bos) out.add(special.bos);
  add_files(out, special, text.files);
  out.add(special.fim_pre);
  out.add(text.prefix);
  out.add(special.fim_suf);
  out.add(text.suffix);
  out.add(special.fim_mid);
  out.tokens.insert(out.tokens.end(), text.after_prefix.begin(), text.after_prefix.end());
  return std::move(out.tokens);
}

}  // namespace weft::api
