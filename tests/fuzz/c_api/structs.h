#pragma once
// Structs of the API with members that the input chooses.

#include "c_api/frame.h"

namespace weft_fuzz {

// Options: defaults, with a few members changed.
void fill(Frame& f, weft_model_options& o);
void fill(Frame& f, weft_sampler_options& o);
void fill(Frame& f, weft_session_options& o);
void fill(Frame& f, weft_generation_options& o);
void fill(Frame& f, weft_chat_turn& o);
void fill(Frame& f, weft_conversation_options& o);
void fill(Frame& f, weft_embedder_options& o);
void fill(Frame& f, weft_computation_options& o);
void fill(Frame& f, weft_beam_options& o);
void fill(Frame& f, weft_diffusion_options& o);
void fill(Frame& f, weft_attend_options& o);
void fill(Frame& f, weft_bench_options& o);
void fill(Frame& f, weft_quantize_options& o);
void fill(Frame& f, weft_op& o);
void fill(Frame& f, weft_architecture& o);

// Elements of arrays.
void fill(Frame& f, weft_string& s);
void fill(Frame& f, weft_step_token& t);
void fill(Frame& f, weft_dim& d);
void fill(Frame& f, weft_value& v);
void fill(Frame& f, std::int32_t& i);
void fill(Frame& f, std::int64_t& i);
void fill(Frame& f, std::uint64_t& i);
void fill(Frame& f, weft_logit_bias& b);
void fill(Frame& f, weft_adapter& a);

// A struct_size: seldom another than `known`.
std::size_t struct_size(Frame& f, std::size_t known);

// Options in memory of exactly their size; NULL now and then.
template <class T>
const T* options(Frame& f) {
  if (f.world.byte() >= 232) return nullptr;
  T filled{};
  fill(f, filled);
  const std::size_t size = struct_size(f, sizeof filled);
  filled.struct_size = static_cast<std::uint32_t>(size);
  auto* memory = static_cast<std::byte*>(f.allocate(std::max(size, sizeof filled.struct_size)));
  std::memcpy(memory, &filled, std::min(std::max(size, sizeof filled.struct_size), sizeof filled));
  if (size > sizeof filled && f.world.byte() % 2) memory[size - 1] = std::byte{1};
  return reinterpret_cast<const T*>(memory);
}

// At most `most` elements; NULL if there are none.
template <class T>
T* some(Frame& f, std::size_t most) {
  const std::size_t n = f.world.byte() % (most + 1);
  T* const all = n == 0 ? nullptr : f.array<T>(n);
  for (std::size_t i = 0; i < n; ++i) {
    T element{};
    fill(f, element);
    all[i] = element;
  }
  f.last_size = n;
  return all;
}

// Callbacks.
std::int32_t on_progress(void* user, double share);
std::int32_t on_token_progress(void* user, std::int64_t done, std::int64_t total);
void on_log(void* user, const char* line);
std::int32_t on_poll(void* user);
std::int32_t on_reply(void* user, const weft_reply_event* event);
weft_status on_choose(void* user, const weft_choice* choice, weft_token* token, weft_error** error);
void on_release(void* user);

}  // namespace weft_fuzz
