#include "border/arguments.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "weft/base/utf8.h"

#include "border/call.h"

namespace weft::c_api {

void refuse_null(std::string_view name) {
  fail<ValueError>("`{}` is NULL", name);
}

std::string_view required_text(const char* text, std::string_view name) {
  if (!text) refuse_null(name);
  return text;
}

std::string_view checked_utf8(std::string_view text, std::string_view name) {
  if (!is_utf8(text)) fail<FormatError>("{}: not UTF-8", name);
  return text;
}

std::string_view required_name(const char* text, std::string_view name) {
  return checked_utf8(required_text(text, name), name);
}

void check_array(const void* data, std::size_t n, std::size_t element, std::string_view name) {
  if (n == 0) return;
  if (!data) refuse_null(name);
  if (n > static_cast<std::size_t>(PTRDIFF_MAX) / element)
    fail<ValueError>("`{}`: no array has {} elements", name, n);
}

bool is_set(std::int64_t flag, std::string_view name) {
  if (flag != 0 && flag != 1) fail<ValueError>("`{}` must be 0 or 1, got {}", name, flag);
  return flag != 0;
}

void check_flags(std::uint32_t flags, std::uint32_t known, std::string_view name) {
  if ((flags & ~known) != 0)
    fail<ValueError>("`{}` has the unknown bits {:#x}", name, flags & ~known);
}

void require_tokens(const Session& session, std::int32_t sequence,
                    std::span<const weft_token> tokens) {
  const auto held = session.tokens(sequence);
  if (held.size() != tokens.size())
    fail<ValueError>("sequence {} has {} tokens, got {}", sequence, held.size(), tokens.size());
  const auto differ = std::ranges::mismatch(held, tokens);
  if (differ.in1 != held.end())
    fail<ValueError>("token {} of sequence {} is {}, got {}", differ.in1 - held.begin(), sequence,
                     *differ.in1, *differ.in2);
}

void check_tokens(std::span<const weft_token> tokens, std::int64_t n_vocab, std::string_view name) {
  for (const weft_token id : tokens) {
    if (id < 0 || id >= n_vocab)
      fail<ValueError>("{}: {} is not a token, the vocabulary has {}", name, id, n_vocab);
  }
}

void check_reserved(std::int64_t reserved, std::string_view struct_name) {
  if (reserved != 0)
    fail<UnsupportedError>("{}: reserved must be 0, got {}", struct_name, reserved);
}

void check_least(std::int64_t number, std::int64_t least, std::string_view name) {
  if (number < least) fail<ValueError>("{} must be at least {}, got {}", name, least, number);
}

void check_between(std::int64_t number, std::int64_t min, std::int64_t max, std::string_view name) {
  if (number < min || number > max)
    fail<ValueError>("`{}` must be from {} to {}, got {}", name, min, max, number);
}

void check_struct_size(std::size_t size, std::string_view name) {
  if (size < kStructAlignment || size > 65536 || size % kStructAlignment != 0)
    fail<ValueError>("{}: struct_size is {}, which no version has; was it initialized?", name,
                     size);
}

void check_tail(const void* given, std::size_t size, std::size_t known, std::string_view name) {
  const auto* bytes = static_cast<const unsigned char*>(given);
  for (std::size_t i = known; i < size; ++i) {
    if (bytes[i] != 0)
      fail<UnsupportedError>(
          "{}: byte {} is set, but the struct has {} bytes in version {}.{} of the API", name, i,
          known, WEFT_API_VERSION_MAJOR, WEFT_API_VERSION_MINOR);
  }
}

void write_text(weft_text* out, std::string_view text) {
  weft_text& result = required(out, "the result");
  auto* data = static_cast<char*>(std::malloc(text.size() + 1));
  if (!data) throw std::bad_alloc();
  std::copy(text.begin(), text.end(), data);
  data[text.size()] = '\0';
  result = {data, text.size()};
}

void check_capacity(std::size_t size, std::size_t capacity, std::size_t* n,
                    std::string_view things) {
  required(n, "n");
  if (size <= capacity) return;
  *n = size;
  throw StatusError(WEFT_ERROR_CAPACITY,
                    fmt::format("there are {} {}, and room for {}", size, things, capacity));
}

void write_tokens(std::span<const weft_token> from, weft_token* out, std::size_t capacity,
                  std::size_t* n) {
  check_capacity(from.size(), capacity, n, "tokens");
  check_array(out, from.size(), sizeof *out, "tokens");
  *n = from.size();
  std::copy(from.begin(), from.end(), out);
}

}  // namespace weft::c_api
