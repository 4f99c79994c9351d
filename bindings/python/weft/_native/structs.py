# Made by bindings/c/interface/generate.py from the .toml files beside it. Do not edit it.
# mypy: ignore-errors
"""The structs and callbacks of weft.h."""

from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_float, c_int32,
                    c_int64, c_size_t, c_uint32, c_uint64, c_void_p)


class weft_text(Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]


class weft_string(Structure):
    _fields_ = [("data", c_char_p), ("size", c_size_t)]


class weft_value(Structure):
    _fields_ = [("name", c_char_p), ("kind", c_int32), ("reserved", c_int32), ("integer", c_int64),
                ("number", c_double), ("text", c_char_p)]

weft_progress = CFUNCTYPE(c_int32, c_void_p, c_double)

weft_log = CFUNCTYPE(None, c_void_p, c_void_p)

weft_poll = CFUNCTYPE(c_int32, c_void_p)


class weft_adapter(Structure):
    _fields_ = [("path", c_char_p), ("scale", c_float), ("reserved", c_int32)]


class weft_model_options(Structure):
    _fields_ = [("struct_size", c_uint32), ("vocabulary_only", c_uint32),
                ("progress", weft_progress), ("progress_user", c_void_p), ("quantize", c_char_p),
                ("overrides", c_char_p), ("allow_unknown_settings", c_uint32),
                ("n_loras", c_uint32), ("n_control_vectors", c_uint32),
                ("control_first_layer", c_int32), ("control_last_layer", c_int32),
                ("n_override_values", c_uint32), ("loras", POINTER(weft_adapter)),
                ("control_vectors", POINTER(weft_adapter)),
                ("override_values", POINTER(weft_value)), ("draft_file", c_char_p)]


class weft_model_info(Structure):
    _fields_ = [("struct_size", c_uint32), ("flags", c_uint32), ("architecture", c_char_p),
                ("name", c_char_p), ("path", c_char_p), ("n_layers", c_int64), ("n_embd", c_int64),
                ("n_vocab", c_int64), ("context", c_int64), ("n_params", c_int64),
                ("weight_bytes", c_int64), ("token_types", c_int64), ("start", c_int32),
                ("n_loras", c_uint32)]


class weft_token_info(Structure):
    _fields_ = [("struct_size", c_uint32), ("flags", c_uint32), ("score", c_float),
                ("reserved", c_int32)]


class weft_logit_bias(Structure):
    _fields_ = [("token", c_int32), ("bias", c_float)]


class weft_sampler_options(Structure):
    _fields_ = [("struct_size", c_uint32), ("top_k", c_int32), ("seed", c_uint64),
                ("temperature", c_float), ("top_p", c_float), ("min_p", c_float),
                ("typical_p", c_float), ("top_n_sigma", c_float), ("tfs_z", c_float),
                ("repeat_penalty", c_float), ("frequency_penalty", c_float),
                ("presence_penalty", c_float), ("repeat_last_n", c_int32),
                ("dynatemp_range", c_float), ("dynatemp_exponent", c_float),
                ("xtc_probability", c_float), ("xtc_threshold", c_float),
                ("dry_multiplier", c_float), ("dry_base", c_float), ("dry_allowed_length", c_int32),
                ("dry_penalty_last_n", c_int32), ("mirostat", c_int32), ("mirostat_tau", c_float),
                ("mirostat_eta", c_float), ("adaptive_target", c_float),
                ("adaptive_decay", c_float), ("n_logit_bias", c_uint32),
                ("n_dry_breakers", c_uint32), ("logit_bias", POINTER(weft_logit_bias)),
                ("dry_breakers", POINTER(c_int32)), ("order", c_char_p)]


class weft_candidate(Structure):
    _fields_ = [("token", c_int32), ("logit", c_float), ("probability", c_float)]


class weft_logprob(Structure):
    _fields_ = [("token", c_int32), ("logprob", c_float)]


class weft_session_options(Structure):
    _fields_ = [("struct_size", c_uint32), ("sequences", c_int32), ("context", c_int64),
                ("cells", c_int64), ("prefill_width", c_int64), ("logits_rows", c_int64),
                ("workers", c_int32), ("weights", c_int32), ("backend", c_char_p),
                ("route", c_char_p), ("cache_k", c_char_p), ("cache_v", c_char_p),
                ("weight_cache", c_char_p), ("passes_off", c_char_p), ("executor", c_char_p),
                ("mem_budget", c_int64), ("caller_bytes", c_int64), ("embeddings", c_uint32),
                ("separate_tensors", c_uint32), ("progress", weft_progress),
                ("progress_user", c_void_p), ("log", weft_log), ("log_user", c_void_p),
                ("poll", weft_poll), ("poll_user", c_void_p), ("rewind", c_int64),
                ("draft_layer", c_uint32), ("reserved", c_uint32), ("expert_usage", c_char_p)]


class weft_session_info(Structure):
    _fields_ = [("struct_size", c_uint32), ("sequences", c_int32), ("context", c_int64),
                ("prefill_width", c_int64), ("logits_rows", c_int64), ("row_width", c_int64),
                ("allocated_bytes", c_int64), ("workers", c_int32), ("embeddings", c_uint32)]

weft_token_progress = CFUNCTYPE(c_int32, c_void_p, c_int64, c_int64)


class weft_step_token(Structure):
    _fields_ = [("token", c_int32), ("sequence", c_int32), ("logits", c_int32), ("type", c_int32)]


class weft_speculation_options(Structure):
    _fields_ = [("struct_size", c_uint32), ("n_max", c_int32), ("type", c_char_p),
                ("draft_model", c_void_p), ("draft_session", POINTER(weft_session_options)),
                ("p_min", c_float), ("ngram_size_n", c_int32), ("adaptive", c_uint32),
                ("reserved", c_uint32), ("log", weft_log), ("log_user", c_void_p)]


class weft_speculation_info(Structure):
    _fields_ = [("struct_size", c_uint32), ("n_max", c_int32), ("type", c_char_p),
                ("n_drafted", c_int64), ("n_accepted", c_int64), ("seconds", c_double),
                ("seconds_without", c_double)]


class weft_choice(Structure):
    _fields_ = [("struct_size", c_uint32), ("reserved", c_uint32), ("logits", POINTER(c_float)),
                ("n_logits", c_size_t), ("tokens", POINTER(c_int32)), ("n_tokens", c_size_t)]

weft_choose = CFUNCTYPE(c_int32, c_void_p, POINTER(weft_choice), c_void_p, c_void_p)


class weft_generation_options(Structure):
    _fields_ = [("struct_size", c_uint32), ("ignore_eos", c_uint32),
                ("sampler", POINTER(weft_sampler_options)), ("grammar", c_void_p),
                ("stops", POINTER(weft_string)), ("banned", POINTER(weft_string)),
                ("stop_tokens", POINTER(c_int32)), ("n_stops", c_uint32), ("n_banned", c_uint32),
                ("n_stop_tokens", c_uint32), ("token_healing", c_uint32), ("max_tokens", c_int64),
                ("min_tokens", c_int64), ("max_time_ms", c_int64), ("n_logprobs", c_int32),
                ("prompt_logprobs", c_uint32), ("decode_flags", c_uint32),
                ("keep_last_room", c_uint32), ("choose", weft_choose), ("choose_user", c_void_p),
                ("speculation", c_void_p), ("context_end", c_char_p), ("keep", c_int64),
                ("discard", c_int64), ("cache_evict", c_int64)]


class weft_generation_event(Structure):
    _fields_ = [("struct_size", c_uint32), ("stop", c_int32), ("token", c_int32),
                ("n_top", c_uint32), ("text", c_void_p), ("text_size", c_size_t),
                ("logprob", c_float), ("n_unshown", c_int32), ("top", POINTER(weft_logprob))]


class weft_generation_info(Structure):
    _fields_ = [("struct_size", c_uint32), ("sequence", c_int32), ("tokens", POINTER(c_int32)),
                ("n_tokens", c_size_t), ("n_prompt", c_int64), ("n_reused", c_int64),
                ("n_new", c_int64), ("n_pending", c_int64), ("n_held", c_int64), ("ended", c_int32),
                ("reserved", c_int32), ("stop_string", c_char_p), ("n_guessed", c_int64),
                ("n_dropped", c_int64)]


class weft_token_logprobs(Structure):
    _fields_ = [("token", c_int32), ("logprob", c_float), ("n_top", c_size_t),
                ("top", POINTER(weft_logprob))]


class weft_beam_options(Structure):
    _fields_ = [("struct_size", c_uint32), ("beams", c_int32), ("length_penalty", c_double),
                ("stopping", c_char_p)]


class weft_diffusion_options(Structure):
    _fields_ = [("struct_size", c_uint32), ("mask_token", c_int32),
                ("sampler", POINTER(weft_sampler_options)), ("max_tokens", c_int64),
                ("steps", c_int64), ("block_length", c_int64), ("algorithm", c_char_p),
                ("algorithm_temperature", c_double), ("eps", c_double), ("guidance", c_double),
                ("shift_logits", c_int32), ("reserved", c_uint32)]


class weft_diffusion_info(Structure):
    _fields_ = [("struct_size", c_uint32), ("sequence", c_int32), ("tokens", POINTER(c_int32)),
                ("n_tokens", c_size_t), ("n_prompt", c_int64), ("n_masked", c_int64),
                ("n_steps", c_int64), ("steps_done", c_int64)]


class weft_chat_turn(Structure):
    _fields_ = [("struct_size", c_uint32), ("single_call", c_uint32), ("messages", c_char_p),
                ("tools", c_char_p), ("tool_choice", c_char_p), ("variables", c_char_p),
                ("constraint", c_char_p), ("constraint_kind", c_int32),
                ("without_generation_prompt", c_uint32), ("answer_final_message", c_uint32),
                ("reasoning_in_content", c_uint32), ("early_calls", c_uint32),
                ("reserved", c_uint32)]


class weft_reply_event(Structure):
    _fields_ = [("struct_size", c_uint32), ("kind", c_int32), ("call", c_int32),
                ("reserved", c_int32), ("text", c_void_p), ("text_size", c_size_t),
                ("id", c_char_p)]

weft_on_reply = CFUNCTYPE(c_int32, c_void_p, POINTER(weft_reply_event))


class weft_conversation_options(Structure):
    _fields_ = [("struct_size", c_uint32), ("single_call", c_uint32), ("chat", c_void_p),
                ("system", c_char_p), ("tools", c_char_p), ("tool_choice", c_char_p),
                ("variables", c_char_p), ("constraint", c_char_p),
                ("sampler", POINTER(weft_sampler_options)), ("stops", POINTER(weft_string)),
                ("n_stops", c_uint32), ("constraint_kind", c_int32), ("max_reply", c_int64),
                ("speculation", c_void_p)]


class weft_embedder_options(Structure):
    _fields_ = [("struct_size", c_uint32), ("norm", c_int32), ("pooling", c_char_p),
                ("max_tokens", c_int64), ("truncate", c_uint32), ("texts_per_step", c_int32),
                ("session", POINTER(weft_session_options)), ("beside", c_void_p)]


class weft_embedding(Structure):
    _fields_ = [("values", POINTER(c_float)), ("n_values", c_size_t), ("n_tokens", c_int64)]


class weft_embedder_info(Structure):
    _fields_ = [("struct_size", c_uint32), ("truncate", c_uint32), ("pooling", c_char_p),
                ("width", c_int64), ("max_tokens", c_int64)]


class weft_rerank_score(Structure):
    _fields_ = [("index", c_size_t), ("score", c_float), ("reserved", c_int32),
                ("n_tokens", c_int64)]


class weft_dim(Structure):
    _fields_ = [("bound", c_int64), ("variable", c_int32), ("reserved", c_int32)]


class weft_tensor_info(Structure):
    _fields_ = [("struct_size", c_uint32), ("rank", c_int32), ("dims", weft_dim * 4),
                ("kind", c_char_p), ("op", c_char_p), ("path", c_char_p), ("dtype", c_char_p)]


class weft_computation_options(Structure):
    _fields_ = [("struct_size", c_uint32), ("workers", c_int32), ("backend", c_char_p),
                ("route", c_char_p), ("passes_off", c_char_p), ("separate_tensors", c_uint32),
                ("reserved", c_uint32), ("mem_budget", c_int64), ("poll", weft_poll),
                ("poll_user", c_void_p)]


class weft_array(Structure):
    _fields_ = [("data", c_void_p), ("dtype", c_char_p), ("rank", c_int32), ("reserved", c_int32),
                ("dims", c_int64 * 4), ("row_stride", c_int64)]


class weft_spec(Structure):
    _fields_ = [("dtype", c_char_p), ("rank", c_int32), ("reserved", c_int32),
                ("dims", weft_dim * 4)]

weft_op_infer = CFUNCTYPE(c_int32, c_void_p, POINTER(weft_spec), c_size_t, POINTER(weft_value),
                          c_size_t, POINTER(weft_spec), c_void_p)

weft_op_compute = CFUNCTYPE(c_int32, c_void_p, POINTER(weft_array), c_size_t, POINTER(weft_value),
                            c_size_t, POINTER(weft_array), c_void_p)


class weft_op(Structure):
    _fields_ = [("struct_size", c_uint32), ("n_inputs", c_uint32), ("name", c_char_p),
                ("input_names", c_void_p), ("user", c_void_p), ("infer", weft_op_infer),
                ("compute", weft_op_compute), ("flags", c_uint32), ("reserved", c_uint32),
                ("sharding", c_char_p)]


class weft_attend_options(Structure):
    _fields_ = [("struct_size", c_uint32), ("both_ways", c_uint32), ("window", c_int64),
                ("chunk", c_int64), ("scale", c_double), ("softcap", c_double), ("alibi", c_double),
                ("sinks", c_int32), ("distances", c_int32)]

weft_architecture_configure = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p)

weft_architecture_build = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p, c_void_p)


class weft_architecture(Structure):
    _fields_ = [("struct_size", c_uint32), ("flags", c_uint32), ("name", c_char_p),
                ("user", c_void_p), ("configure", weft_architecture_configure),
                ("build", weft_architecture_build)]

weft_extension_entry = CFUNCTYPE(c_int32, c_uint32, c_void_p)


class weft_bench_options(Structure):
    _fields_ = [("struct_size", c_uint32), ("repeats", c_int32), ("prompt_tokens", c_int64),
                ("generated_tokens", c_int64), ("depth", c_int64),
                ("session", POINTER(weft_session_options))]


class weft_quantize_options(Structure):
    _fields_ = [("struct_size", c_uint32), ("pure", c_uint32), ("type", c_char_p),
                ("tensor_types", c_char_p), ("output_type", c_char_p), ("embedding_type", c_char_p),
                ("imatrix", c_char_p), ("leave_output", c_uint32), ("allow_requantize", c_uint32),
                ("nonfinite_to_zero", c_uint32), ("workers", c_int32), ("progress", weft_progress),
                ("progress_user", c_void_p), ("log", weft_log), ("log_user", c_void_p)]
