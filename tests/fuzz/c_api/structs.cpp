#include "c_api/structs.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace weft_fuzz {
namespace {

// True in one of eight cases.
bool rarely(Frame& f) {
  return f.world.byte() >= 224;
}
template <class T>
void change(Frame& f, T& member) {
  if (!rarely(f)) return;
  if constexpr (std::is_floating_point_v<T>) {
    member = static_cast<T>(f.world.number());
  } else {
    member = static_cast<T>(f.world.integer());
  }
}
void change(Frame& f, const char*& member, Words from) {
  if (rarely(f)) member = f.c_string(from);
}
template <class T, class N>
void change_array(Frame& f, const T*& all, N& n) {
  if (!rarely(f)) return;
  all = some<T>(f, 3);
  n = static_cast<N>(f.last_size);
}

}  // namespace

std::size_t struct_size(Frame& f, std::size_t known) {
  const std::uint8_t b = f.world.byte();
  if (b < 232) return known;
  const std::size_t sizes[] = {0,         4,         8,         12,        known - 8,
                               known - 4, known - 1, known + 1, known + 8, known + 64,
                               65536,     known / 2, 7};
  return sizes[b % std::size(sizes)];
}

void fill(Frame& f, weft_model_options& o) {
  weft_model_options_init(&o, sizeof o);
  o.vocabulary_only = f.world.byte() % 2;
  if (rarely(f)) o.progress = on_progress;
  change(f, o.quantize, Words::dtype);
  change(f, o.overrides, Words::name);
  change(f, o.allow_unknown_settings);
  change_array(f, o.loras, o.n_loras);
  change_array(f, o.control_vectors, o.n_control_vectors);
  change_array(f, o.override_values, o.n_override_values);
  change(f, o.control_first_layer);
  change(f, o.control_last_layer);
}

void fill(Frame& f, weft_sampler_options& o) {
  weft_sampler_options_init(&o, sizeof o);
  if (f.world.byte() < 96) return;
  change(f, o.top_k), change(f, o.seed), change(f, o.temperature), change(f, o.top_p);
  change(f, o.min_p), change(f, o.typical_p), change(f, o.top_n_sigma), change(f, o.tfs_z);
  change(f, o.repeat_penalty), change(f, o.frequency_penalty), change(f, o.presence_penalty);
  change(f, o.repeat_last_n), change(f, o.dynatemp_range), change(f, o.dynatemp_exponent);
  change(f, o.xtc_probability), change(f, o.xtc_threshold), change(f, o.dry_multiplier);
  change(f, o.dry_base), change(f, o.dry_allowed_length), change(f, o.dry_penalty_last_n);
  change(f, o.mirostat), change(f, o.mirostat_tau), change(f, o.mirostat_eta);
  change(f, o.adaptive_target), change(f, o.adaptive_decay);
  change_array(f, o.logit_bias, o.n_logit_bias);
  change_array(f, o.dry_breakers, o.n_dry_breakers);
  change(f, o.order, Words::name);
}

void fill(Frame& f, weft_session_options& o) {
  weft_session_options_init(&o, sizeof o);
  o.sequences = 1 + f.world.byte() % 3;
  o.context = 64;
  o.prefill_width = 8;
  o.workers = 1;
  o.mem_budget = 64 << 20;
  if (f.world.byte() < 128) return;
  change(f, o.sequences), change(f, o.context), change(f, o.cells), change(f, o.prefill_width);
  change(f, o.logits_rows), change(f, o.weights), change(f, o.embeddings);
  change(f, o.separate_tensors), change(f, o.mem_budget), change(f, o.caller_bytes);
  if (rarely(f)) o.workers = static_cast<std::int32_t>(f.world.integer() % 3);
  if (o.mem_budget <= 0 || o.mem_budget > 64 << 20)
    o.context = std::min<std::int64_t>(o.context, 64);
  change(f, o.backend, Words::dtype), change(f, o.route, Words::name);
  change(f, o.cache_k, Words::dtype), change(f, o.cache_v, Words::dtype);
  change(f, o.passes_off, Words::name), change(f, o.executor, Words::dtype);
  if (rarely(f)) o.progress = on_progress;
  if (rarely(f)) o.log = on_log;
  if (rarely(f)) o.poll = on_poll;
}

void fill(Frame& f, weft_generation_options& o) {
  weft_generation_options_init(&o, sizeof o);
  o.max_tokens = 4;
  change(f, o.ignore_eos), change(f, o.token_healing), change(f, o.max_tokens);
  change(f, o.min_tokens), change(f, o.max_time_ms), change(f, o.n_logprobs);
  change(f, o.prompt_logprobs), change(f, o.decode_flags), change(f, o.keep_last_room);
  o.sampler = options<weft_sampler_options>(f);
  if (rarely(f)) o.grammar = static_cast<weft_grammar*>(f.world.handle(Type::grammar));
  change_array(f, o.stops, o.n_stops);
  change_array(f, o.banned, o.n_banned);
  change_array(f, o.stop_tokens, o.n_stop_tokens);
  if (rarely(f)) o.choose = on_choose;
}

void fill(Frame& f, weft_chat_turn& o) {
  weft_chat_turn_init(&o, sizeof o);
  o.messages = R"([{"role": "user", "content": "Hi"}])";
  change(f, o.single_call), change(f, o.constraint_kind);
  change(f, o.without_generation_prompt), change(f, o.answer_final_message);
  change(f, o.reasoning_in_content);
  change(f, o.messages, Words::chat), change(f, o.tools, Words::chat);
  change(f, o.tool_choice, Words::chat), change(f, o.variables, Words::chat);
  change(f, o.constraint, Words::grammar);
}

void fill(Frame& f, weft_conversation_options& o) {
  weft_conversation_options_init(&o, sizeof o);
  o.max_reply = 4;
  change(f, o.single_call), change(f, o.constraint_kind), change(f, o.max_reply);
  if (rarely(f)) o.chat = static_cast<weft_chat*>(f.world.handle(Type::chat));
  change(f, o.system, Words::text), change(f, o.tools, Words::chat);
  change(f, o.tool_choice, Words::chat), change(f, o.variables, Words::chat);
  change(f, o.constraint, Words::grammar);
  o.sampler = options<weft_sampler_options>(f);
  change_array(f, o.stops, o.n_stops);
}

void fill(Frame& f, weft_embedder_options& o) {
  weft_embedder_options_init(&o, sizeof o);
  change(f, o.norm), change(f, o.max_tokens), change(f, o.truncate), change(f, o.texts_per_step);
  change(f, o.pooling, Words::name);
  auto* session = f.array<weft_session_options>(1);
  weft_session_options filled;
  fill(f, filled);
  *session = filled;
  o.session = session;
}

void fill(Frame& f, weft_computation_options& o) {
  weft_computation_options_init(&o, sizeof o);
  o.workers = 1;
  change(f, o.separate_tensors), change(f, o.backend, Words::dtype);
  change(f, o.route, Words::name), change(f, o.passes_off, Words::name);
}

void fill(Frame& f, weft_beam_options& o) {
  weft_beam_options_init(&o, sizeof o);
  o.beams = 1 + f.world.byte() % 3;
  change(f, o.beams), change(f, o.length_penalty), change(f, o.stopping, Words::name);
}

void fill(Frame& f, weft_diffusion_options& o) {
  weft_diffusion_options_init(&o, sizeof o);
  o.max_tokens = o.steps = 4;
  o.mask_token = 1;
  change(f, o.max_tokens), change(f, o.steps), change(f, o.block_length), change(f, o.eps);
  change(f, o.algorithm, Words::name), change(f, o.algorithm_temperature);
  change(f, o.guidance), change(f, o.shift_logits), change(f, o.mask_token), change(f, o.reserved);
  o.sampler = options<weft_sampler_options>(f);
}

void fill(Frame& f, weft_attend_options& o) {
  weft_attend_options_init(&o, sizeof o);
  change(f, o.both_ways), change(f, o.window), change(f, o.scale), change(f, o.softcap);
  change(f, o.alibi), change(f, o.sinks);
}

void fill(Frame& f, weft_bench_options& o) {
  weft_bench_options_init(&o, sizeof o);
  change(f, o.repeats), change(f, o.prompt_tokens), change(f, o.generated_tokens);
}

void fill(Frame& f, weft_quantize_options& o) {
  weft_quantize_options_init(&o, sizeof o);
  o.type = f.c_string(Words::dtype);
  o.workers = 1;
  change(f, o.pure), change(f, o.leave_output), change(f, o.allow_requantize);
  change(f, o.nonfinite_to_zero), change(f, o.tensor_types, Words::name);
  change(f, o.output_type, Words::dtype), change(f, o.embedding_type, Words::dtype);
  change(f, o.imatrix, Words::path);
  if (rarely(f)) o.progress = on_progress;
}

void fill(Frame& f, weft_string& s) {
  s.data = f.c_string(Words::text);
  s.size = f.size();
}
void fill(Frame& f, weft_step_token& t) {
  fill(f, t.token);
  t.logits = f.world.byte() % 2;
  change(f, t.sequence), change(f, t.type);
}
void fill(Frame& f, weft_dim& d) {
  d.bound = f.world.integer();
  change(f, d.variable), change(f, d.reserved);
}
void fill(Frame& f, weft_value& v) {
  v.name = rarely(f) ? nullptr : f.c_string(Words::name);
  v.kind = 1 + f.world.byte() % 4;
  change(f, v.kind);
  v.integer = f.world.integer();
  v.number = f.world.number();
  v.text = rarely(f) ? nullptr : f.c_string(Words::name);
}
void fill(Frame& f, std::int32_t& i) {
  i = static_cast<std::int32_t>(f.world.integer());
}
void fill(Frame& f, std::int64_t& i) {
  i = f.world.integer();
}
void fill(Frame& f, std::uint64_t& i) {
  i = static_cast<std::uint64_t>(f.world.integer());
}
void fill(Frame& f, weft_logit_bias& b) {
  fill(f, b.token);
  b.bias = static_cast<float>(f.world.number());
}
void fill(Frame& f, weft_adapter& a) {
  a.path = f.c_string(Words::path);
  a.scale = static_cast<float>(f.world.number());
}

}  // namespace weft_fuzz
