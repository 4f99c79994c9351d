#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "weft/base/json_string.h"
#include "weft/base/utf8.h"

#include "completion_answers.h"

namespace weft::api {
namespace {

// Bytes that are not a text are written as OpenAI does: "bytes:\xe4\xb8".
std::string shown_token(std::string_view bytes) {
  if (is_utf8(bytes)) return std::string(bytes);
  std::string text = "bytes:";
  for (const char c : bytes) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return text;
}

std::string number(float logprob) {
  return std::isfinite(logprob) ? fmt::format("{}", logprob) : "-9999.0";
}

void append(std::string& items, std::string_view item) {
  if (!items.empty()) items += ',';
  items += item;
}

}  // namespace

void LogprobColumns::add_token(std::string_view bytes) {
  append(tokens_, json_string(shown_token(bytes)));
  append(offsets_, std::to_string(offset_));
  // Bytes that continue a character do not count.
  offset_ += std::ranges::count_if(bytes, [](char c) { return (c & 0xC0) != 0x80; });
}

void LogprobColumns::add(const TokenLogprobs& row) {
  add_token(row.chosen.bytes);
  append(token_logprobs_, number(row.chosen.logprob));
  std::string top;
  bool has_chosen = false;
  const auto put = [&](const TokenLogprob& t) {
    append(top, json_string(shown_token(t.bytes)) + ":" + number(t.logprob));
    has_chosen = has_chosen || t.token == row.chosen.token;
  };
  for (const TokenLogprob& t : row.top) {
    if (static_cast<int>(&t - row.top.data()) < n_top_) put(t);
  }
  if (!has_chosen) put(row.chosen);
  append(top_logprobs_, "{" + top + "}");
}

void LogprobColumns::add_unknown(TokenId token) {
  add_token(tokenizer_.hidden(token) ? std::string_view() : tokenizer_.bytes(token));
  append(token_logprobs_, "null");
  append(top_logprobs_, "null");
}

std::string LogprobColumns::take() {
  std::string object = fmt::format(
      R"({{"tokens":[{}],"token_logprobs":[{}],"top_logprobs":[{}],"text_offset":[{}]}})", tokens_,
      token_logprobs_, top_logprobs_, offsets_);
  for (std::string* items : {&tokens_, &token_logprobs_, &top_logprobs_, &offsets_}) items->clear();
  return object;
}

void add_prompt(LogprobColumns& columns, const EchoedPrompt& prompt,
                std::span<const TokenLogprobs> rows) {
  if (!prompt.tokens.empty()) columns.add_unknown(prompt.tokens.front());
  for (const TokenLogprobs& row : rows) columns.add(row);
}

}  // namespace weft::api
