#pragma once
// Arguments of C as C++ has them, checked; and results the other way.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "weft/base/error.h"
#include "weft/run/session.h"
#include "weft/weft.h"

namespace weft::c_api {

// Throws ValueError "`name` is NULL".
[[noreturn]] void refuse_null(std::string_view name);
template <class T>
T& required(T* pointer, std::string_view name) {
  if (!pointer) refuse_null(name);
  return *pointer;
}
// A text that ends with a NUL.
std::string_view required_text(const char* text, std::string_view name);
// Throws FormatError: "NAME: not UTF-8".
std::string_view checked_utf8(std::string_view text, std::string_view name);
// The same in UTF-8, for what appears in graphs, plans and messages.
std::string_view required_name(const char* text, std::string_view name);
inline std::string_view text_or(const char* text, std::string_view otherwise = {}) {
  return text ? std::string_view(text) : otherwise;
}

// An array: throws ValueError for NULL unless n is 0, and for a size that no array has.
void check_array(const void* data, std::size_t n, std::size_t element, std::string_view name);
template <class T>
std::span<T> array(T* data, std::size_t n, std::string_view name) {
  check_array(data, n, sizeof(T), name);
  return {data, n};
}
inline std::string_view text(const char* data, std::size_t size, std::string_view name) {
  check_array(data, size, 1, name);
  return {data, size};
}
inline std::string_view text(const weft_string& s, std::string_view name) {
  return text(s.data, s.size, name);
}

// A member or argument that is 0 or 1. Throws ValueError for others, which later versions may use.
bool is_set(std::int64_t flag, std::string_view name);

// Throws ValueError for bits that are not `known`.
void check_flags(std::uint32_t flags, std::uint32_t known, std::string_view name);

// Throws ValueError unless these are the tokens of the sequence.
void require_tokens(const Session& session, std::int32_t sequence,
                    std::span<const weft_token> tokens);
// Throws ValueError for ids outside a vocabulary of this size.
void check_tokens(std::span<const weft_token> tokens, std::int64_t n_vocab, std::string_view name);

// Throws UnsupportedError for a reserved member that is not 0: a later version may give it a
// meaning.
void check_reserved(std::int64_t reserved, std::string_view struct_name);

// Throws ValueError for numbers below `least`.
void check_least(std::int64_t number, std::int64_t least, std::string_view name);
// Throws ValueError for numbers that are not from min to max.
void check_between(std::int64_t number, std::int64_t min, std::int64_t max, std::string_view name);

// Sizes of structs are multiples of this in every version, so that none ends within a member.
constexpr std::size_t kStructAlignment = 8;
// Throws ValueError for sizes that no version of a struct has.
void check_struct_size(std::size_t size, std::string_view name);
// Throws UnsupportedError if a struct of `size` bytes has members after the `known` bytes that are
// not zero.
void check_tail(const void* given, std::size_t size, std::size_t known, std::string_view name);

// Options of the caller in a struct of any version: members that it lacks have their defaults. NULL
// gives all defaults.
template <class T>
T read_options(const T* given, const T& defaults, std::string_view name) {
  T options = defaults;
  if (!given) return options;
  const std::size_t size = given->struct_size;
  static_assert(sizeof(T) % kStructAlignment == 0);
  check_struct_size(size, name);
  check_tail(given, size, sizeof(T), name);
  std::memcpy(static_cast<void*>(&options), given, std::min(size, sizeof(T)));
  options.struct_size = sizeof(T);
  return options;
}

// Checks a struct of the caller that is to be filled, before work is done for it.
template <class T>
void check_output(const T* out, std::string_view name) {
  static_assert(sizeof(T) % kStructAlignment == 0);
  check_struct_size(required(out, name).struct_size, name);
}
// Fills a struct of the caller, of any version. What only newer ones have becomes 0.
template <class T>
void write_struct(T* out, T value, std::string_view name) {
  check_output(out, name);
  const std::size_t size = out->struct_size;
  value.struct_size = out->struct_size;
  std::memset(static_cast<void*>(out), 0, size);
  std::memcpy(static_cast<void*>(out), &value, std::min(size, sizeof(T)));
}

// weft_X_options_init(): the defaults, as far as the caller's struct knows them.
template <class T>
void init_options(T* out, std::size_t size, T defaults, std::string_view name) {
  required(out, name);
  check_struct_size(size, name);
  defaults.struct_size = static_cast<std::uint32_t>(size);
  std::memset(static_cast<void*>(out), 0, size);
  std::memcpy(static_cast<void*>(out), &defaults, std::min(size, sizeof(T)));
}

// Results. Of two that belong together both are checked before one is written.
template <class From, class T>
void give(const From& from, T** data, std::size_t* n, std::string_view data_name,
          std::string_view n_name) {
  required(data, data_name);
  required(n, n_name) = from.size();
  *data = from.data();
}
void write_text(weft_text* out, std::string_view text);
weft_error* make_error(weft_status status, std::string message, int os_error);

// Throws StatusError WEFT_ERROR_CAPACITY, with the size in *n, if an array of the caller is too
// small: "there are 5 tokens, and room for 3".
void check_capacity(std::size_t size, std::size_t capacity, std::size_t* n,
                    std::string_view things);
// Copies ids to an array of the caller, or throws StatusError WEFT_ERROR_CAPACITY. *n is their
// number in these two cases.
void write_tokens(std::span<const weft_token> from, weft_token* out, std::size_t capacity,
                  std::size_t* n);

}  // namespace weft::c_api
