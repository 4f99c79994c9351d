#include "weft/base/utf8.h"
#include "weft/tokenize/tokenizer.h"

namespace weft {

Detokenizer::Detokenizer(const Tokenizer& tokenizer, const Options& options)
    : tokenizer_(tokenizer), options_(options) {}

std::string_view Detokenizer::push(TokenId id) {
  tokenizer_.check_id(id);
  out_.clear();
  if (tokenizer_.hidden(id) && !options_.decode.show_special) return out_;
  std::string_view bytes = tokenizer_.bytes(id);
  if (at_start_ && options_.decode.strip_space_prefix &&
      tokenizer_.vocabulary().flags().add_space_prefix && bytes.starts_with(' ')) {
    bytes.remove_prefix(1);
  }
  at_start_ = false;
  held_ += bytes;
  emit(held_.size() - unfinished_utf8(held_));
  return out_;
}

std::string_view Detokenizer::finish() {
  out_.clear();
  if (!held_.empty()) {
    if (options_.invalid == Invalid::replace) {
      append_utf8(kReplacementCharacter, out_);
    } else {
      out_ = held_;
    }
  }
  held_.clear();
  at_start_ = true;
  return out_;
}

// Moves the first `n_bytes` held bytes to the output.
void Detokenizer::emit(std::size_t n_bytes) {
  if (options_.invalid == Invalid::keep) {
    out_.append(held_, 0, n_bytes);
  } else {
    for (std::size_t at = 0; at < n_bytes;) {
      const Utf8Char c = decode_utf8(held_, at);
      append_utf8(c.code, out_);
      at += c.valid ? c.length : invalid_utf8(held_, at);
    }
  }
  held_.erase(0, n_bytes);
}

}  // namespace weft
