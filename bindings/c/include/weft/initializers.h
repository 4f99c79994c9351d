/* Initializers of options: what weft_X_init() sets, in one line.
 *
 *   weft_session_options options = WEFT_SESSION_OPTIONS_INIT;
 *
 * In C they are constants, also for static objects; in C++ (from C++11 on) calls of weft_X_init().
 * Programs include weft/weft.h, which includes this file. */
#ifndef WEFT_INITIALIZERS_H
#define WEFT_INITIALIZERS_H

#ifdef __cplusplus
#define WEFT_INIT_(type, ...)                  \
  [] {                                         \
    type weft_made;                            \
    type##_init(&weft_made, sizeof weft_made); \
    return weft_made;                          \
  }()
#else
#define WEFT_INIT_(type, ...) \
  { .struct_size = sizeof(type), __VA_ARGS__ }
#endif
#define WEFT_MODEL_OPTIONS_INIT WEFT_INIT_(weft_model_options, .n_loras = 0)
#define WEFT_SAMPLER_OPTIONS_INIT                                                                \
  WEFT_INIT_(weft_sampler_options, .top_k = 40, .temperature = 0.8f, .top_p = 0.95f,             \
             .min_p = 0.05f, .typical_p = 1, .top_n_sigma = -1, .tfs_z = 1, .repeat_penalty = 1, \
             .repeat_last_n = 64, .dynatemp_exponent = 1, .xtc_threshold = 0.1f,                 \
             .dry_base = 1.75f, .dry_allowed_length = 2, .dry_penalty_last_n = -1,               \
             .mirostat_tau = 5, .mirostat_eta = 0.1f, .adaptive_target = -1,                     \
             .adaptive_decay = 0.9f)
#define WEFT_SESSION_OPTIONS_INIT \
  WEFT_INIT_(weft_session_options, .sequences = 1, .prefill_width = 512)
#define WEFT_SPECULATION_OPTIONS_INIT \
  WEFT_INIT_(weft_speculation_options, .n_max = 16, .ngram_size_n = 2, .adaptive = 1)
#define WEFT_GENERATION_OPTIONS_INIT \
  WEFT_INIT_(weft_generation_options, .max_tokens = -1, .n_logprobs = -1, .keep = 4)
#define WEFT_BEAM_OPTIONS_INIT WEFT_INIT_(weft_beam_options, .beams = 4, .length_penalty = 1)
#define WEFT_DIFFUSION_OPTIONS_INIT                                                     \
  WEFT_INIT_(weft_diffusion_options, .mask_token = -1, .max_tokens = 128, .steps = 128, \
             .eps = 1e-3, .shift_logits = -1)
#define WEFT_CHAT_TURN_INIT WEFT_INIT_(weft_chat_turn, .single_call = 0)
#define WEFT_CONVERSATION_OPTIONS_INIT WEFT_INIT_(weft_conversation_options, .max_reply = -1)
#define WEFT_EMBEDDER_OPTIONS_INIT \
  WEFT_INIT_(weft_embedder_options, .norm = 2, .texts_per_step = 32)
#define WEFT_COMPUTATION_OPTIONS_INIT WEFT_INIT_(weft_computation_options, .workers = 0)
#define WEFT_ATTEND_OPTIONS_INIT WEFT_INIT_(weft_attend_options, .sinks = -1, .distances = -1)
#define WEFT_BENCH_OPTIONS_INIT \
  WEFT_INIT_(weft_bench_options, .repeats = 5, .prompt_tokens = 512, .generated_tokens = 64)
#define WEFT_QUANTIZE_OPTIONS_INIT WEFT_INIT_(weft_quantize_options, .pure = 0)

#endif
