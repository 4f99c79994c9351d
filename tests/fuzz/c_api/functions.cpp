// Every function of weft.h, but for those that measure for seconds.
#include <algorithm>
#include <iterator>

#include "c_api/draw.h"

namespace weft_fuzz {
namespace {

// Calls of this much work are made seldom.
constexpr int kSlow = 30;

struct Function {
  const char* name;
  void (*call)(Frame& f);
  Words first, rest;  // the kinds of its texts
  int work;
};

template <class Handle>
void call_free(Frame& f, weft_status (*function)(Handle*)) {
  constexpr Type kType = TypeOf<Handle>::kType;
  auto* handle = static_cast<Handle*>(f.world.handle(kType));
  if (static_cast<void*>(handle) == stories()) handle = nullptr;
  const weft_status status = function(handle);
  f.check(status);
  if (status == WEFT_SUCCESS) f.world.drop(kType, handle);
}

// clang-format off
#define CALL(function, first, rest, work) \
  {#function, [](Frame& f) { call(f, function); }, Words::first, Words::rest, work}
#define FREE(name) \
  {"weft_" #name "_free", [](Frame& f) { call_free(f, weft_##name##_free); }, Words::text, Words::text, 1}

constexpr Function kFunctions[] = {
    CALL(weft_status_name, text, text, 1),
    CALL(weft_error_message, text, text, 1),
    CALL(weft_error_status, text, text, 1),
    CALL(weft_error_os_error, text, text, 1),
    CALL(weft_error_free, text, text, 1),
    CALL(weft_version, text, text, 1),
    CALL(weft_api_version, text, text, 1),
    CALL(weft_canceller_open, text, text, 1),
    CALL(weft_canceller_cancel, text, text, 1),
    FREE(canceller),
    CALL(weft_about_json, text, text, 4),
    CALL(weft_guard_mappings, text, text, 1),
    CALL(weft_load_backend, path, path, 4),
    CALL(weft_model_options_init, text, text, 1),
    CALL(weft_model_open, path, path, 10),
    CALL(weft_model_open_memory, path, path, 10),
    CALL(weft_model_open_descriptor, path, path, 10),
    FREE(model),
    CALL(weft_model_get_info, text, text, 1),
    CALL(weft_model_metadata_json, text, text, 1),
    CALL(weft_model_warnings_json, text, text, 1),
    CALL(weft_model_get_chat_template, text, text, 1),
    CALL(weft_model_read_tensor, text, text, 1),
    CALL(weft_model_check_files, text, text, 1),
    CALL(weft_tokenize, text, text, 1),
    CALL(weft_detokenize, text, text, 1),
    CALL(weft_token_get_bytes, text, text, 1),
    CALL(weft_token_get_text, text, text, 1),
    CALL(weft_token_find, text, text, 1),
    CALL(weft_token_get_info, text, text, 1),
    CALL(weft_token_get_special, text, text, 1),
    CALL(weft_detokenizer_open, text, text, 1),
    CALL(weft_detokenizer_push, text, text, 1),
    CALL(weft_detokenizer_finish, text, text, 1),
    FREE(detokenizer),
    CALL(weft_grammar_open, grammar, grammar, 3),
    CALL(weft_grammar_accepts, text, text, 1),
    FREE(grammar),
    CALL(weft_constraint_open, text, text, 3),
    CALL(weft_constraint_get_mask, text, text, 1),
    CALL(weft_constraint_apply, text, text, 1),
    CALL(weft_constraint_accept, text, text, 1),
    CALL(weft_constraint_reset, text, text, 1),
    CALL(weft_constraint_get_state, text, text, 1),
    CALL(weft_constraint_get_forced, text, text, 1),
    FREE(constraint),
    CALL(weft_sampler_options_init, text, text, 1),
    CALL(weft_sampler_open, text, text, 1),
    CALL(weft_sampler_sample, text, text, 1),
    CALL(weft_sampler_accept, text, text, 1),
    CALL(weft_sampler_reset, text, text, 1),
    CALL(weft_sampler_reseed, text, text, 1),
    CALL(weft_sampler_copy, text, text, 1),
    CALL(weft_sampler_get_candidates, text, text, 1),
    FREE(sampler),
    CALL(weft_top_logprobs, text, text, 1),
    CALL(weft_logprob_of, text, text, 1),
    CALL(weft_session_options_init, text, text, 1),
    CALL(weft_session_open, text, text, 14),
    CALL(weft_session_share, text, text, 1),
    CALL(weft_session_cancel, text, text, 1),
    FREE(session),
    CALL(weft_session_get_info, text, text, 1),
    CALL(weft_session_json, text, text, 2),
    CALL(weft_session_plan_json, text, text, 3),
    CALL(weft_session_get_plan_hash, text, text, 1),
    CALL(weft_session_plan_svg, text, text, 4),
    CALL(weft_session_dot, text, text, 3),
    CALL(weft_session_feed, text, text, 2),
    CALL(weft_session_step, text, text, 2),
    CALL(weft_session_get_logits, text, text, 1),
    CALL(weft_session_encode, text, text, 1),
    CALL(weft_session_get_length, text, text, 1),
    CALL(weft_session_get_tokens, text, text, 1),
    CALL(weft_session_get_common_prefix, text, text, 1),
    CALL(weft_session_truncate, text, text, 1),
    CALL(weft_session_get_resume_point, text, text, 1),
    CALL(weft_session_copy, text, text, 1),
    CALL(weft_session_set_lora_scales, text, text, 1),
    CALL(weft_session_get_lora_scales, text, text, 1),
    CALL(weft_session_save, session, session, 1),
    CALL(weft_session_save_file, text, path, 1),
    CALL(weft_saved_open_memory, text, text, 1),
    CALL(weft_saved_open, path, path, 1),
    CALL(weft_saved_get_tokens, text, text, 1),
    CALL(weft_saved_get_note, text, text, 1),
    CALL(weft_saved_restore, text, text, 1),
    CALL(weft_saved_get_resume_point, text, text, 1),
    FREE(saved),
    CALL(weft_generation_options_init, text, text, 1),
    CALL(weft_generation_open, text, text, 1),
    FREE(generation),
    CALL(weft_generation_begin, text, text, 1),
    CALL(weft_generation_begin_text, text, text, 1),
    CALL(weft_generation_prefill, text, text, 2),
    CALL(weft_generation_next, text, text, 2),
    CALL(weft_generation_feed_last, text, text, 1),
    CALL(weft_generation_fork, text, text, 1),
    CALL(weft_generation_adopt, text, text, 1),
    CALL(weft_generation_set_sampler, text, text, 1),
    CALL(weft_generation_set_grammar, text, text, 1),
    CALL(weft_generation_get_info, text, text, 1),
    CALL(weft_batch_open, text, text, 1),
    CALL(weft_generate_text, text, text, kSlow),
    CALL(weft_batch_step, text, text, 1),
    FREE(batch),
    CALL(weft_chat_open, chat, chat, 1),
    FREE(chat),
    CALL(weft_chat_turn_init, text, text, 1),
    CALL(weft_template_render, chat, chat, 2),
    CALL(weft_chat_render, text, text, 1),
    CALL(weft_chat_plan_open, text, text, 1),
    CALL(weft_chat_plan_get_tokens, text, text, 1),
    CALL(weft_chat_plan_get_text, text, text, 1),
    CALL(weft_chat_plan_get_grammar, text, text, 1),
    CALL(weft_generation_begin_chat, text, text, 1),
    FREE(chat_plan),
    CALL(weft_reply_open, text, text, 1),
    CALL(weft_reply_push, chat, chat, 1),
    CALL(weft_reply_finish, text, text, 1),
    CALL(weft_reply_message_json, text, text, 1),
    FREE(reply),
    CALL(weft_conversation_options_init, text, text, 1),
    CALL(weft_conversation_open, text, text, 1),
    CALL(weft_conversation_say, text, text, 8),
    CALL(weft_conversation_answer_call, chat, chat, 8),
    CALL(weft_conversation_open_calls_json, text, text, 1),
    CALL(weft_conversation_messages_json, text, text, 1),
    CALL(weft_conversation_undo_turn, text, text, 1),
    CALL(weft_conversation_reset, text, text, 1),
    CALL(weft_conversation_set_system, chat, chat, 1),
    CALL(weft_conversation_save, path, path, 1),
    CALL(weft_conversation_load, path, path, 1),
    FREE(conversation),
    CALL(weft_beam_options_init, text, text, 1),
    CALL(weft_generation_search_json, name, name, 30),
    CALL(weft_diffusion_options_init, text, text, 1),
    CALL(weft_diffusion_fit_session, name, name, 1),
    CALL(weft_diffusion_open, name, name, 2),
    CALL(weft_diffusion_begin, text, text, 1),
    CALL(weft_diffusion_step, text, text, 10),
    CALL(weft_diffusion_get_text, text, text, 1),
    CALL(weft_diffusion_get_info, text, text, 1),
    FREE(diffusion),
    CALL(weft_embedder_options_init, text, text, 1),
    CALL(weft_embedder_open, text, text, 14),
    CALL(weft_embedder_set_output, text, text, 1),
    CALL(weft_embedder_cancel, text, text, 1),
    FREE(embedder),
    CALL(weft_embedder_embed, text, text, 4),
    CALL(weft_embedder_embed_tokens, text, text, 1),
    CALL(weft_embedder_get_info, text, text, 1),
    CALL(weft_embedder_rerank, text, text, 4),
    CALL(weft_ops_json, text, text, 2),
    CALL(weft_graph_open, name, name, 1),
    FREE(graph),
    CALL(weft_graph_set_line, name, name, 1),
    CALL(weft_graph_variable, name, name, 1),
    CALL(weft_graph_input, name, dtype, 1),
    CALL(weft_graph_weight, name, dtype, 1),
    CALL(weft_graph_state, name, dtype, 1),
    CALL(weft_graph_op, op, op, 1),
    CALL(weft_graph_set_name, name, name, 1),
    CALL(weft_graph_push_scope, name, name, 1),
    CALL(weft_graph_pop_scope, name, name, 1),
    CALL(weft_graph_output, name, name, 1),
    CALL(weft_graph_check, name, name, 1),
    CALL(weft_graph_get_size, name, name, 1),
    CALL(weft_graph_get_tensor, name, name, 1),
    CALL(weft_graph_json, name, name, 1),
    CALL(weft_dot_svg, text, text, 30),
    CALL(weft_graph_dot, name, name, 1),
    CALL(weft_model_graph, text, text, 8),
    CALL(weft_computation_options_init, name, name, 1),
    CALL(weft_computation_open, name, name, 8),
    FREE(computation),
    CALL(weft_computation_set_weight, name, name, 1),
    CALL(weft_computation_get_input, name, name, 1),
    CALL(weft_computation_get_state, name, name, 1),
    CALL(weft_computation_run, name, name, 1),
    CALL(weft_computation_cancel, text, text, 1),
    CALL(weft_computation_get_output, name, name, 1),
    CALL(weft_computation_get_tensor, name, name, 1),
    CALL(weft_computation_verify, name, name, 6),
    CALL(weft_computation_plan_svg, text, text, 2),
    CALL(weft_computation_plan_json, name, name, 1),
    CALL(weft_computation_get_plan_hash, name, name, 1),
    CALL(weft_register_op, text, text, 1),
    CALL(weft_attend_options_init, text, text, 1),
    CALL(weft_register_architecture, text, text, 1),
    CALL(weft_architectures_json, text, text, 1),
    CALL(weft_inspect_json, path, path, 1),
    CALL(weft_plan_json, text, text, 10),
    CALL(weft_verify_json, text, text, 60),
    CALL(weft_check_new_model_json, architecture, path, 60),
    CALL(weft_write_made_model, architecture, path, 30),
    CALL(weft_bench_options_init, text, text, 1),
    CALL(weft_quantize_options_init, text, text, 1),
    CALL(weft_quantize, path, path, 20),
    CALL(weft_convert, path, path, 20),
};

// What callbacks of architectures call, besides functions of graphs.
constexpr Function kConfigFunctions[] = {
    CALL(weft_config_integer, name, name, 1),
    CALL(weft_config_number, name, name, 1),
    CALL(weft_config_flag, name, name, 1),
    CALL(weft_config_text, name, name, 1),
    CALL(weft_config_refuse, name, name, 1),
};
constexpr Function kBuilderFunctions[] = {
    CALL(weft_builder_get_number, name, name, 1),
    CALL(weft_builder_get_integer, name, name, 1),
    CALL(weft_builder_get_rope, name, name, 1),
    CALL(weft_builder_get_graph, name, name, 1),
    CALL(weft_builder_get_input, name, name, 1),
    CALL(weft_builder_wants_embeddings, name, name, 1),
    CALL(weft_builder_weight, name, name, 1),
    CALL(weft_builder_has_weight, name, name, 1),
    CALL(weft_builder_ignore_weight, name, name, 1),
    CALL(weft_builder_begin_block, name, name, 1),
    CALL(weft_builder_end_block, name, name, 1),
    CALL(weft_builder_attend, name, name, 1),
    CALL(weft_builder_recurrent, name, name, 1),
    CALL(weft_builder_norm, name, name, 1),
    CALL(weft_builder_project, name, name, 1),
    CALL(weft_builder_rope_factors, name, name, 1),
    CALL(weft_builder_head, name, name, 1),
    CALL(weft_graph_op, op, op, 1),
};
#undef CALL
#undef FREE
// clang-format on

template <std::size_t n>
void call_one(const Function (&functions)[n]) {
  World& w = world();
  const Function& function = functions[w.byte() % n];
  if (function.work >= kSlow && w.byte() < 250) return;
  current_function = function.name;
  w.spend(function.work + 2);
  Frame frame(w, function.first, function.rest);
  function.call(frame);
}

}  // namespace

void call_any() {
  const std::uint8_t b = world().byte();
  if (b == 255) return call_one(kConfigFunctions);
  if (b == 254) return call_one(kBuilderFunctions);
  call_one(kFunctions);
}
void call_builder() {
  call_one(kBuilderFunctions);
}
void call_config() {
  call_one(kConfigFunctions);
}

}  // namespace weft_fuzz
