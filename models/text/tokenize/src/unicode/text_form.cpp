#include "weft/tokenize/text_form.h"

#include <algorithm>

#include "weft/tokenize/tokenizer_kinds.h"

namespace weft {
namespace {

using What = FormPart::What;

class FormWriter {
 public:
  FormWriter& token(bool wanted, TokenId id) {
    if (wanted && id != kNoToken) form_.push_back({.id = id, .type = type_});
    return *this;
  }
  FormWriter& text(What what) {
    form_.push_back({.what = what, .type = type_});
    return *this;
  }
  FormWriter& type(std::int32_t type) {
    type_ = type;
    return *this;
  }
  TextForm form() const { return form_; }

 private:
  TextForm form_;
  std::int32_t type_ = 0;
};

}  // namespace

std::vector<TokenId> tokens_before(const TextForm& form) {
  std::vector<TokenId> ids;
  for (const FormPart& part : form) {
    if (part.what != What::token) break;
    ids.push_back(part.id);
  }
  return ids;
}

std::vector<TokenId> tokens_after(const TextForm& form) {
  std::vector<TokenId> ids = tokens_before({form.rbegin(), form.rend()});
  std::ranges::reverse(ids);
  return ids;
}

TextForms default_forms(std::string_view kind_name, const TokenizerFlags& flags,
                        const SpecialTokens& special) {
  const TokenizerKind* kind = find_tokenizer_kind(kind_name);
  const bool for_encoders = kind && kind->for_encoders;
  const bool ends_with_sep = for_encoders && flags.add_sep && special.sep != kNoToken;
  const TokenId opening = for_encoders && special.cls != kNoToken ? special.cls : special.bos;
  const TokenId closing = ends_with_sep ? special.sep : special.eos;
  const bool closes = ends_with_sep || flags.add_eos;

  FormWriter single, pair;
  single.token(flags.add_bos, opening).text(What::first).token(closes, closing);
  pair.token(flags.add_bos, opening).text(What::first);
  pair.token(flags.add_eos, special.eos).token(flags.add_sep, special.sep);
  pair.type(for_encoders ? 1 : 0).text(What::second).token(closes, closing);
  return {single.form(), pair.form()};
}

}  // namespace weft
