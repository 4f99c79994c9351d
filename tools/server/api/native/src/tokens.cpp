// /tokenize, /detokenize, /apply-template.

#include <optional>

#include "weft/api/chat_job.h"
#include "weft/api/interface_forms.h"
#include "weft/api/json_text.h"
#include "weft/api/mixed_prompt.h"
#include "weft/base/utf8.h"
#include "weft/native/endpoints.h"
#include "weft/tokenize/tokenizer.h"

#include "chat.h"

namespace weft::api::native {
namespace {

// llama-server's form has `content`, vLLM's `prompt` or `messages`.
struct TokenizeRequest : ChatFields {
  std::optional<std::string> content, prompt;
  std::optional<bool> add_special;
  bool parse_special = true, with_pieces = false;
};

const Fields<TokenizeRequest>& tokenize_fields() {
  static const auto table =
      Fields<TokenizeRequest>()
          .include(chat_fields())
          .add("content", &TokenizeRequest::content, text(), "Text to split into tokens.")
          .add("prompt", &TokenizeRequest::prompt, text(),
               "Text to split into tokens; the answer then has counts, too.")
          .add("add_special", &TokenizeRequest::add_special, boolean(),
               "Add the tokens that the vocabulary puts around texts.")
          .apply(
              "add_special_tokens", boolean(),
              [](TokenizeRequest& request, bool add) { request.add_special = add; },
              "Another name of add_special; true by default for prompt.")
          .add("parse_special", &TokenizeRequest::parse_special, boolean(),
               "Read control tokens that the text spells out as these tokens.")
          .add("with_pieces", &TokenizeRequest::with_pieces, boolean(),
               "Add the texts of the tokens to the answer.");
  return table;
}

std::vector<TokenId> tokens_of(const ServedModel& model, const TokenizeRequest& request) {
  if (request.messages) return plan_chat(model, chat_turn(request)).tokens;
  const std::optional<std::string>& text = request.content ? request.content : request.prompt;
  if (!text) refuse(Path().member("content"), "is required");
  const bool add = request.add_special.value_or(!request.content);
  return model.model->tokenizer().encode(
      *text, {.add_special = add, .parse_special = request.parse_special});
}

// The text of a token, or its bytes if they are not a text.
std::string piece_json(std::string_view bytes) {
  std::string json;
  if (is_utf8(bytes)) {
    json_out::append(json, bytes);
    return json;
  }
  JsonArray list;
  for (const char byte : bytes) list.add(static_cast<unsigned char>(byte));
  return list.str();
}

std::string pieces_json(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens) {
  JsonArray list;
  for (const TokenId id : tokens)
    list.add_json(
        JsonObject().add("id", id).add_json("piece", piece_json(tokenizer.bytes(id))).str());
  return list.str();
}

void tokenize(const std::shared_ptr<ApiCall>& call) {
  const ServedModel& model = *call->model;
  const TokenizeRequest request = tokenize_fields().read(*call->body);
  const std::vector<TokenId> tokens = tokens_of(model, request);
  JsonObject json;
  json.add_json("tokens", request.with_pieces ? pieces_json(model.model->tokenizer(), tokens)
                                              : array_of(tokens));
  if (!request.content)
    json.add("count", tokens.size()).add("max_model_len", model.texts->context());
  call->reply(json.str());
}

struct DetokenizeRequest {
  std::vector<std::int64_t> tokens;
};

const Fields<DetokenizeRequest>& detokenize_fields() {
  static const auto table = Fields<DetokenizeRequest>().required(
      "tokens", &DetokenizeRequest::tokens, list(whole(0)), "Ids of the tokens to turn into text.");
  return table;
}

void detokenize(const std::shared_ptr<ApiCall>& call) {
  const Model& model = *call->model->model;
  const DetokenizeRequest request = detokenize_fields().read(*call->body);
  const std::string text =
      model.tokenizer().decode(checked_ids(model, request.tokens, "tokens"),
                               {.show_special = true, .strip_space_prefix = true});
  call->reply(JsonObject().add("content", text).add("prompt", text).str());
}

void apply_template(const std::shared_ptr<ApiCall>& call) {
  const ChatFields request = chat_fields().read(*call->body);
  if (!request.messages) refuse(Path().member("messages"), "is required");
  call->reply(JsonObject().add("prompt", plan_chat(*call->model, chat_turn(request)).text).str());
}

}  // namespace

std::vector<Endpoint> token_endpoints() {
  std::vector<Endpoint> endpoints;
  endpoints.push_back(post_endpoint("/tokenize", "tokenize", "The tokens of a text or a chat",
                                    tokenize, tokenize_fields()));
  endpoints.push_back(post_endpoint("/detokenize", "detokenize", "The text of tokens", detokenize,
                                    detokenize_fields()));
  endpoints.push_back(post_endpoint("/apply-template", "applyTemplate",
                                    "The prompt that a chat becomes", apply_template,
                                    chat_fields()));
  return endpoints;
}

}  // namespace weft::api::native
