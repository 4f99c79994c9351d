#include <optional>
#include <string>

#include "weft/tokenize/tokenizer.h"

#include "border/arguments.h"
#include "border/call.h"
#include "border/objects.h"

namespace weft::c_api {
namespace {

struct DetokenizerObject : Object {
  static constexpr Kind kKind = Kind::detokenizer;
  DetokenizerObject(std::shared_ptr<ModelObject> of, const Detokenizer::Options& options)
      : Object(kKind), model(std::move(of)), detokenizer(model->text(), options) {}
  DetokenizerObject& inner() { return *this; }

  const std::shared_ptr<ModelObject> model;
  Gate gate{"detokenizer", Gate::Threads::none};
  Detokenizer detokenizer;
};

Detokenizer::Options detokenizer_options(std::uint32_t flags) {
  check_flags(flags,
              WEFT_DETOKENIZE_SHOW_SPECIAL | WEFT_DETOKENIZE_STRIP_SPACE_PREFIX |
                  WEFT_DETOKENIZE_REPLACE_INVALID,
              "flags");
  return {.decode = {.show_special = (flags & WEFT_DETOKENIZE_SHOW_SPECIAL) != 0,
                     .strip_space_prefix = (flags & WEFT_DETOKENIZE_STRIP_SPACE_PREFIX) != 0},
          .invalid = (flags & WEFT_DETOKENIZE_REPLACE_INVALID) != 0 ? Detokenizer::Invalid::replace
                                                                    : Detokenizer::Invalid::keep};
}

// The text of ids with U+FFFD for bytes that are not UTF-8.
std::string replaced(const Tokenizer& tokenizer, std::span<const TokenId> ids,
                     const Detokenizer::Options& options) {
  for (const TokenId id : ids) tokenizer.check_id(id);
  Detokenizer detokenizer(tokenizer, options);
  std::string all;
  for (const TokenId id : ids) all += detokenizer.push(id);
  return all += detokenizer.finish();
}

// The vocabulary, after a check that it has texts and the token.
const Vocabulary& checked(const ModelObject& model, weft_token token) {
  const Vocabulary& vocabulary = *model.vocabulary;
  if (!vocabulary.has_texts()) throw UnsupportedError(model.no_tokenizer);
  if (token < 0 || token >= vocabulary.size())
    fail<ValueError>("token {} is not in the vocabulary of {} tokens", token, vocabulary.size());
  return vocabulary;
}

// Before the text changes.
void check_text_result(const char** text, const std::size_t* size) {
  required(text, "text");
  required(size, "size");
}

std::uint32_t flag_of_type(TokenType type) {
  switch (type) {
    case TokenType::control:
      return WEFT_TOKEN_CONTROL;
    case TokenType::byte:
      return WEFT_TOKEN_BYTE;
    case TokenType::user_defined:
      return WEFT_TOKEN_USER_DEFINED;
    case TokenType::unknown:
      return WEFT_TOKEN_UNKNOWN;
    case TokenType::unused:
      return WEFT_TOKEN_UNUSED;
    default:
      return 0;
  }
}

TokenId newline_token(const ModelObject& model) {
  const auto ids = model.text().encode("\n", {.add_special = false});
  if (ids.size() == 1) return ids[0];
  // SentencePiece puts a space before a text: the newline is then the last token.
  return ids.empty() || model.text().bytes(ids.back()) != "\n" ? kNoToken : ids.back();
}

TokenId special_token(const ModelObject& model, std::int32_t which) {
  const SpecialTokens& s = model.vocabulary->special();
  const TokenId ids[] = {s.bos,     s.eos,     s.eot,     s.eom,     s.unk,
                         s.sep,     s.pad,     s.cls,     s.mask,    s.fim_pre,
                         s.fim_suf, s.fim_mid, s.fim_pad, s.fim_rep, s.fim_sep};
  if (which == WEFT_SPECIAL_NEWLINE) return newline_token(model);
  if (which < 0 || which > WEFT_SPECIAL_FIM_FILE)
    fail<ValueError>("`which` must be from 0 to {}, got {}", int{WEFT_SPECIAL_NEWLINE}, which);
  return ids[which];
}

}  // namespace
}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_tokenize(weft_model* model, const char* data, size_t size, uint32_t flags,
                          weft_token* tokens, size_t capacity, size_t* n, weft_error** error) {
  return call(error, [&] {
    const auto m = pin<ModelObject>(model);
    check_flags(flags, WEFT_TOKENIZE_ADD_SPECIAL | WEFT_TOKENIZE_PARSE_SPECIAL, "flags");
    const auto ids = m->text().encode(
        text(data, size, "text"), {.add_special = (flags & WEFT_TOKENIZE_ADD_SPECIAL) != 0,
                                   .parse_special = (flags & WEFT_TOKENIZE_PARSE_SPECIAL) != 0});
    write_tokens(ids, tokens, capacity, n);
  });
}

weft_status weft_detokenize(weft_model* model, const weft_token* tokens, size_t n, uint32_t flags,
                            weft_text* result, weft_error** error) {
  return call(error, [&] {
    const auto m = pin<ModelObject>(model);
    const Detokenizer::Options options = detokenizer_options(flags);
    const auto ids = array(tokens, n, "tokens");
    write_text(result, options.invalid == Detokenizer::Invalid::keep
                           ? m->text().decode(ids, options.decode)
                           : replaced(m->text(), ids, options));
  });
}

weft_status weft_token_get_bytes(weft_model* model, weft_token token, const char** data,
                                 size_t* size, weft_error** error) {
  return call(error, [&] {
    const auto m = pin<ModelObject>(model);
    checked(*m, token);
    give(m->text().bytes(token), data, size, "data", "size");
  });
}

weft_status weft_token_get_text(weft_model* model, weft_token token, const char** data,
                                size_t* size, weft_error** error) {
  return call(error, [&] {
    const auto m = pin<ModelObject>(model);
    give(checked(*m, token).text(token), data, size, "data", "size");
  });
}

weft_status weft_token_find(weft_model* model, const char* data, size_t size, weft_token* token,
                            weft_error** error) {
  return call(error, [&] {
    const auto m = pin<ModelObject>(model);
    required(token, "token") = m->vocabulary->find(text(data, size, "text"));
  });
}

weft_status weft_token_get_info(weft_model* model, weft_token token, weft_token_info* info,
                                weft_error** error) {
  return call(error, [&] {
    const auto m = pin<ModelObject>(model);
    const Vocabulary& v = checked(*m, token);
    std::uint32_t flags = flag_of_type(v.type(token));
    if (v.ends_generation(token)) flags |= WEFT_TOKEN_ENDS_TEXT;
    if (m->tokenizer && m->tokenizer->hidden(token)) flags |= WEFT_TOKEN_HIDDEN;
    write_struct(info, weft_token_info{.flags = flags, .score = v.score(token)}, "weft_token_info");
  });
}

weft_status weft_token_get_special(weft_model* model, int32_t which, weft_token* token,
                                   weft_error** error) {
  return call(error, [&] {
    const auto m = pin<ModelObject>(model);
    required(token, "token") = special_token(*m, which);
  });
}

weft_status weft_detokenizer_open(weft_model* model, uint32_t flags, weft_detokenizer** detokenizer,
                                  weft_error** error) {
  return call(error, [&] {
    required(detokenizer, "detokenizer");
    *detokenizer = handle_of<weft_detokenizer>(
        std::make_shared<DetokenizerObject>(pin<ModelObject>(model), detokenizer_options(flags)));
  });
}

weft_status weft_detokenizer_push(weft_detokenizer* detokenizer, weft_token token,
                                  const char** data, size_t* size, weft_error** error) {
  return call(error, [&] {
    const Used<DetokenizerObject> d(detokenizer);
    checked(*d->model, token);
    check_text_result(data, size);
    give(d->detokenizer.push(token), data, size, "text", "size");
  });
}

weft_status weft_detokenizer_finish(weft_detokenizer* detokenizer, const char** data, size_t* size,
                                    weft_error** error) {
  return call(error, [&] {
    const Used<DetokenizerObject> d(detokenizer);
    check_text_result(data, size);
    give(d->detokenizer.finish(), data, size, "text", "size");
  });
}

weft_status weft_detokenizer_free(weft_detokenizer* detokenizer) {
  return free_handle<DetokenizerObject>(detokenizer);
}
