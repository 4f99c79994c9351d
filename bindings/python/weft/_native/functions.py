# Made by bindings/c/interface/generate.py from the .toml files beside it. Do not edit it.
# mypy: ignore-errors
"""The functions of weft.h. Calls look them up here, as begin_exit() replaces them."""

from ctypes import (POINTER, c_char_p, c_double, c_float, c_int32, c_int64, c_size_t,
                    c_uint32, c_uint64, c_void_p)

from . import structs
from .library import plain, short

Out = POINTER(c_void_p)

weft_status_name = short("weft_status_name", c_char_p, c_int32)
weft_error_message = short("weft_error_message", c_char_p, c_void_p)
weft_error_os_error = short("weft_error_os_error", c_int32, c_void_p)
weft_error_free = short("weft_error_free", None, c_void_p)
weft_error_make = short("weft_error_make", c_int32, c_int32, c_void_p, Out)
weft_text_free = short("weft_text_free", None, POINTER(structs.weft_text))
weft_canceller_open = plain("weft_canceller_open", c_int32, Out, Out)
weft_canceller_cancel = plain("weft_canceller_cancel", c_int32, c_void_p)
weft_canceller_free = plain("weft_canceller_free", c_int32, c_void_p)
weft_version = plain("weft_version", c_char_p)
weft_about_json = plain("weft_about_json", c_int32, POINTER(structs.weft_text), Out)
weft_guard_mappings = plain("weft_guard_mappings", c_int32, Out)
weft_load_backend = plain("weft_load_backend", c_int32, c_void_p, Out)
weft_model_options_init = short("weft_model_options_init", c_int32,
                                POINTER(structs.weft_model_options), c_size_t)
weft_model_open = plain("weft_model_open", c_int32, c_void_p, POINTER(structs.weft_model_options),
                        Out, Out)
weft_model_open_memory = plain("weft_model_open_memory", c_int32, c_void_p, c_size_t, c_void_p,
                               c_void_p, c_void_p, POINTER(structs.weft_model_options), Out, Out)
weft_model_open_descriptor = plain("weft_model_open_descriptor", c_int32, c_int32, c_void_p,
                                   POINTER(structs.weft_model_options), Out, Out)
weft_model_free = plain("weft_model_free", c_int32, c_void_p)
weft_model_get_info = short("weft_model_get_info", c_int32, c_void_p,
                            POINTER(structs.weft_model_info), Out)
weft_model_metadata_json = plain("weft_model_metadata_json", c_int32, c_void_p, c_size_t,
                                 POINTER(structs.weft_text), Out)
weft_model_warnings_json = plain("weft_model_warnings_json", c_int32, c_void_p,
                                 POINTER(structs.weft_text), Out)
weft_model_get_chat_template = short("weft_model_get_chat_template", c_int32, c_void_p, Out, Out)
weft_model_check_files = plain("weft_model_check_files", c_int32, c_void_p, Out)
weft_tokenize = plain("weft_tokenize", c_int32, c_void_p, c_void_p, c_size_t, c_uint32, c_void_p,
                      c_size_t, POINTER(c_size_t), Out)
weft_detokenize = plain("weft_detokenize", c_int32, c_void_p, c_void_p, c_size_t, c_uint32,
                        POINTER(structs.weft_text), Out)
weft_token_get_bytes = short("weft_token_get_bytes", c_int32, c_void_p, c_int32, Out,
                             POINTER(c_size_t), Out)
weft_token_get_text = short("weft_token_get_text", c_int32, c_void_p, c_int32, Out,
                            POINTER(c_size_t), Out)
weft_token_find = short("weft_token_find", c_int32, c_void_p, c_void_p, c_size_t, POINTER(c_int32),
                        Out)
weft_token_get_info = short("weft_token_get_info", c_int32, c_void_p, c_int32,
                            POINTER(structs.weft_token_info), Out)
weft_token_get_special = short("weft_token_get_special", c_int32, c_void_p, c_int32,
                               POINTER(c_int32), Out)
weft_detokenizer_open = plain("weft_detokenizer_open", c_int32, c_void_p, c_uint32, Out, Out)
weft_detokenizer_push = short("weft_detokenizer_push", c_int32, c_void_p, c_int32, Out,
                              POINTER(c_size_t), Out)
weft_detokenizer_finish = short("weft_detokenizer_finish", c_int32, c_void_p, Out,
                                POINTER(c_size_t), Out)
weft_detokenizer_free = plain("weft_detokenizer_free", c_int32, c_void_p)
weft_grammar_open = plain("weft_grammar_open", c_int32, c_int32, c_void_p, c_size_t, c_void_p, Out,
                          Out)
weft_grammar_accepts = plain("weft_grammar_accepts", c_int32, c_void_p, c_void_p, c_size_t,
                             POINTER(c_int32), Out)
weft_grammar_free = plain("weft_grammar_free", c_int32, c_void_p)
weft_constraint_open = plain("weft_constraint_open", c_int32, c_void_p, c_void_p, Out, Out)
weft_constraint_get_mask = short("weft_constraint_get_mask", c_int32, c_void_p, Out,
                                 POINTER(c_size_t), Out)
weft_constraint_apply = plain("weft_constraint_apply", c_int32, c_void_p, c_void_p, c_size_t, Out)
weft_constraint_accept = short("weft_constraint_accept", c_int32, c_void_p, c_int32, Out)
weft_constraint_reset = short("weft_constraint_reset", c_int32, c_void_p, Out)
weft_constraint_get_state = short("weft_constraint_get_state", c_int32, c_void_p, POINTER(c_int32),
                                  POINTER(c_int32), Out)
weft_constraint_get_forced = short("weft_constraint_get_forced", c_int32, c_void_p, c_size_t,
                                   POINTER(structs.weft_text), Out)
weft_constraint_free = plain("weft_constraint_free", c_int32, c_void_p)
weft_sampler_options_init = short("weft_sampler_options_init", c_int32,
                                  POINTER(structs.weft_sampler_options), c_size_t)
weft_sampler_open = plain("weft_sampler_open", c_int32, POINTER(structs.weft_sampler_options), Out,
                          Out)
weft_sampler_sample = plain("weft_sampler_sample", c_int32, c_void_p, c_void_p, c_size_t,
                            POINTER(c_int32), Out)
weft_sampler_accept = short("weft_sampler_accept", c_int32, c_void_p, c_int32, Out)
weft_sampler_reset = short("weft_sampler_reset", c_int32, c_void_p, Out)
weft_sampler_reseed = plain("weft_sampler_reseed", c_int32, c_void_p, c_uint64, Out)
weft_sampler_copy = plain("weft_sampler_copy", c_int32, c_void_p, Out, Out)
weft_sampler_get_candidates = short("weft_sampler_get_candidates", c_int32, c_void_p, Out,
                                    POINTER(c_size_t), Out)
weft_sampler_free = plain("weft_sampler_free", c_int32, c_void_p)
weft_top_logprobs = plain("weft_top_logprobs", c_int32, c_void_p, c_size_t,
                          POINTER(structs.weft_logprob), c_size_t, Out)
weft_logprob_of = plain("weft_logprob_of", c_int32, c_void_p, c_size_t, c_int32, POINTER(c_float),
                        Out)
weft_session_options_init = short("weft_session_options_init", c_int32,
                                  POINTER(structs.weft_session_options), c_size_t)
weft_session_open = plain("weft_session_open", c_int32, c_void_p,
                          POINTER(structs.weft_session_options), Out, Out)
weft_session_share = plain("weft_session_share", c_int32, c_void_p, Out, Out)
weft_session_cancel = plain("weft_session_cancel", c_int32, c_void_p)
weft_session_free = plain("weft_session_free", c_int32, c_void_p)
weft_session_get_info = short("weft_session_get_info", c_int32, c_void_p,
                              POINTER(structs.weft_session_info), Out)
weft_session_json = plain("weft_session_json", c_int32, c_void_p, POINTER(structs.weft_text), Out)
weft_session_plan_json = plain("weft_session_plan_json", c_int32, c_void_p, c_int64,
                               POINTER(structs.weft_text), Out)
weft_session_get_plan_hash = short("weft_session_get_plan_hash", c_int32, c_void_p, c_int64,
                                   POINTER(c_uint64), Out)
weft_session_dot = plain("weft_session_dot", c_int32, c_void_p, c_int64, POINTER(structs.weft_text),
                         Out)
weft_model_dot = plain("weft_model_dot", c_int32, c_void_p, POINTER(structs.weft_session_options),
                       c_int64, POINTER(structs.weft_text), Out)
weft_session_plan_svg = plain("weft_session_plan_svg", c_int32, c_void_p, c_int64,
                              POINTER(structs.weft_text), Out)
weft_session_profile = plain("weft_session_profile", c_int32, c_void_p, c_int32, c_void_p, c_size_t,
                             POINTER(structs.weft_text), POINTER(structs.weft_text), Out)
weft_session_feed = plain("weft_session_feed", c_int32, c_void_p, c_int32, c_void_p, c_size_t,
                          structs.weft_token_progress, c_void_p, Out)
weft_session_step = plain("weft_session_step", c_int32, c_void_p, POINTER(structs.weft_step_token),
                          c_size_t, Out, POINTER(c_size_t), Out)
weft_session_get_logits = short("weft_session_get_logits", c_int32, c_void_p, Out,
                                POINTER(c_size_t), Out)
weft_session_encode = plain("weft_session_encode", c_int32, c_void_p, c_int32, c_void_p, c_size_t,
                            Out)
weft_session_get_length = short("weft_session_get_length", c_int32, c_void_p, c_int32,
                                POINTER(c_int64), Out)
weft_session_get_tokens = short("weft_session_get_tokens", c_int32, c_void_p, c_int32, Out,
                                POINTER(c_size_t), Out)
weft_session_get_common_prefix = short("weft_session_get_common_prefix", c_int32, c_void_p, c_int32,
                                       c_void_p, c_size_t, POINTER(c_size_t), Out)
weft_session_truncate = plain("weft_session_truncate", c_int32, c_void_p, c_int32, c_int64, Out)
weft_session_get_resume_point = short("weft_session_get_resume_point", c_int32, c_void_p, c_int32,
                                      c_int64, POINTER(c_int64), Out)
weft_session_copy = plain("weft_session_copy", c_int32, c_void_p, c_int32, c_int32, c_int64, Out)
weft_session_set_lora_scales = plain("weft_session_set_lora_scales", c_int32, c_void_p, c_int32,
                                     c_void_p, c_size_t, Out)
weft_session_get_lora_scales = short("weft_session_get_lora_scales", c_int32, c_void_p, c_int32,
                                     Out, POINTER(c_size_t), Out)
weft_session_save = plain("weft_session_save", c_int32, c_void_p, c_int32, c_void_p, c_size_t,
                          c_void_p, c_size_t, POINTER(structs.weft_text), Out)
weft_session_save_file = plain("weft_session_save_file", c_int32, c_void_p, c_int32, c_void_p,
                               c_size_t, c_void_p, c_size_t, c_void_p, Out)
weft_saved_open_memory = plain("weft_saved_open_memory", c_int32, c_void_p, c_size_t, Out, Out)
weft_saved_open = plain("weft_saved_open", c_int32, c_void_p, Out, Out)
weft_saved_get_tokens = short("weft_saved_get_tokens", c_int32, c_void_p, Out, POINTER(c_size_t),
                              Out)
weft_saved_get_note = short("weft_saved_get_note", c_int32, c_void_p, Out, POINTER(c_size_t), Out)
weft_saved_restore = plain("weft_saved_restore", c_int32, c_void_p, c_void_p, c_int32, c_int64, Out)
weft_saved_get_resume_point = short("weft_saved_get_resume_point", c_int32, c_void_p, c_void_p,
                                    c_int64, POINTER(c_int64), Out)
weft_saved_free = plain("weft_saved_free", c_int32, c_void_p)
weft_speculation_options_init = short("weft_speculation_options_init", c_int32,
                                      POINTER(structs.weft_speculation_options), c_size_t)
weft_speculation_open = plain("weft_speculation_open", c_int32, c_void_p,
                              POINTER(structs.weft_speculation_options), Out, Out)
weft_speculation_free = plain("weft_speculation_free", c_int32, c_void_p)
weft_speculation_get_info = short("weft_speculation_get_info", c_int32, c_void_p, c_void_p,
                                  POINTER(structs.weft_speculation_info), Out)
weft_generation_options_init = short("weft_generation_options_init", c_int32,
                                     POINTER(structs.weft_generation_options), c_size_t)
weft_generation_open = plain("weft_generation_open", c_int32, c_void_p, c_int32,
                             POINTER(structs.weft_generation_options), Out, Out)
weft_generation_free = plain("weft_generation_free", c_int32, c_void_p)
weft_generation_begin = plain("weft_generation_begin", c_int32, c_void_p, c_void_p, c_size_t,
                              c_int32, Out)
weft_generation_prefill = plain("weft_generation_prefill", c_int32, c_void_p,
                                structs.weft_token_progress, c_void_p, Out)
weft_generation_next = plain("weft_generation_next", c_int32, c_void_p,
                             POINTER(structs.weft_generation_event), Out)
weft_generation_fork = plain("weft_generation_fork", c_int32, c_void_p, c_int32, c_void_p, Out, Out)
weft_generation_set_sampler = plain("weft_generation_set_sampler", c_int32, c_void_p,
                                    POINTER(structs.weft_sampler_options), Out)
weft_generation_set_grammar = plain("weft_generation_set_grammar", c_int32, c_void_p, c_void_p, Out)
weft_generation_get_info = short("weft_generation_get_info", c_int32, c_void_p,
                                 POINTER(structs.weft_generation_info), Out)
weft_generation_get_prompt_logprobs = short("weft_generation_get_prompt_logprobs", c_int32,
                                            c_void_p, Out, POINTER(c_size_t), Out)
weft_batch_open = plain("weft_batch_open", c_int32, c_void_p, Out, Out)
weft_batch_step = plain("weft_batch_step", c_int32, c_void_p, c_void_p, c_size_t,
                        POINTER(structs.weft_generation_event), POINTER(c_int32), Out)
weft_batch_free = plain("weft_batch_free", c_int32, c_void_p)
weft_beam_options_init = short("weft_beam_options_init", c_int32,
                               POINTER(structs.weft_beam_options), c_size_t)
weft_generation_search_json = plain("weft_generation_search_json", c_int32, c_void_p,
                                    POINTER(structs.weft_beam_options), POINTER(structs.weft_text),
                                    Out)
weft_diffusion_options_init = short("weft_diffusion_options_init", c_int32,
                                    POINTER(structs.weft_diffusion_options), c_size_t)
weft_diffusion_fit_session = plain("weft_diffusion_fit_session", c_int32,
                                   POINTER(structs.weft_diffusion_options), c_size_t,
                                   POINTER(structs.weft_session_options), Out)
weft_diffusion_open = plain("weft_diffusion_open", c_int32, c_void_p, c_int32,
                            POINTER(structs.weft_diffusion_options), Out, Out)
weft_diffusion_begin = plain("weft_diffusion_begin", c_int32, c_void_p, c_void_p, c_size_t, Out)
weft_diffusion_step = plain("weft_diffusion_step", c_int32, c_void_p, POINTER(c_int32), Out)
weft_diffusion_get_text = short("weft_diffusion_get_text", c_int32, c_void_p, c_void_p,
                                POINTER(structs.weft_text), Out)
weft_diffusion_get_info = short("weft_diffusion_get_info", c_int32, c_void_p,
                                POINTER(structs.weft_diffusion_info), Out)
weft_diffusion_free = plain("weft_diffusion_free", c_int32, c_void_p)
weft_chat_open = plain("weft_chat_open", c_int32, c_void_p, c_void_p, Out, Out)
weft_chat_free = plain("weft_chat_free", c_int32, c_void_p)
weft_chat_turn_init = short("weft_chat_turn_init", c_int32, POINTER(structs.weft_chat_turn),
                            c_size_t)
weft_chat_templates_json = plain("weft_chat_templates_json", c_int32, POINTER(structs.weft_text),
                                 Out)
weft_template_render = plain("weft_template_render", c_int32, c_void_p, c_void_p,
                             POINTER(structs.weft_text), Out)
weft_chat_render = plain("weft_chat_render", c_int32, c_void_p, POINTER(structs.weft_chat_turn),
                         POINTER(structs.weft_text), Out)
weft_chat_plan_open = plain("weft_chat_plan_open", c_int32, c_void_p,
                            POINTER(structs.weft_chat_turn), Out, Out)
weft_chat_plan_get_tokens = short("weft_chat_plan_get_tokens", c_int32, c_void_p, Out,
                                  POINTER(c_size_t), Out)
weft_chat_plan_get_shown = short("weft_chat_plan_get_shown", c_int32, c_void_p, Out,
                                 POINTER(c_size_t), Out)
weft_chat_plan_get_text = short("weft_chat_plan_get_text", c_int32, c_void_p, Out,
                                POINTER(c_size_t), Out)
weft_chat_plan_get_grammar = short("weft_chat_plan_get_grammar", c_int32, c_void_p, Out, Out)
weft_generation_begin_chat = plain("weft_generation_begin_chat", c_int32, c_void_p, c_void_p,
                                   c_int32, Out)
weft_chat_plan_free = plain("weft_chat_plan_free", c_int32, c_void_p)
weft_reply_open = plain("weft_reply_open", c_int32, c_void_p, Out, Out)
weft_reply_push = plain("weft_reply_push", c_int32, c_void_p, c_void_p, c_size_t,
                        structs.weft_on_reply, c_void_p, Out)
weft_reply_end = plain("weft_reply_end", c_int32, c_void_p, c_int32, structs.weft_on_reply,
                       c_void_p, Out)
weft_reply_message_json = plain("weft_reply_message_json", c_int32, c_void_p,
                                POINTER(structs.weft_text), Out)
weft_reply_free = plain("weft_reply_free", c_int32, c_void_p)
weft_embedder_options_init = short("weft_embedder_options_init", c_int32,
                                   POINTER(structs.weft_embedder_options), c_size_t)
weft_embedder_open = plain("weft_embedder_open", c_int32, c_void_p,
                           POINTER(structs.weft_embedder_options), Out, Out)
weft_embedder_set_output = plain("weft_embedder_set_output", c_int32, c_void_p, c_int32, c_uint32,
                                 Out)
weft_embedder_cancel = plain("weft_embedder_cancel", c_int32, c_void_p)
weft_embedder_free = plain("weft_embedder_free", c_int32, c_void_p)
weft_embedder_embed = plain("weft_embedder_embed", c_int32, c_void_p, POINTER(structs.weft_string),
                            c_size_t, POINTER(structs.weft_embedding), Out)
weft_embedder_embed_tokens = plain("weft_embedder_embed_tokens", c_int32, c_void_p, c_void_p,
                                   c_size_t, POINTER(structs.weft_embedding), Out)
weft_embedder_get_info = short("weft_embedder_get_info", c_int32, c_void_p,
                               POINTER(structs.weft_embedder_info), Out)
weft_embedder_rerank = plain("weft_embedder_rerank", c_int32, c_void_p, c_void_p, c_size_t,
                             POINTER(structs.weft_string), c_size_t,
                             POINTER(structs.weft_rerank_score), Out)
weft_ops_json = plain("weft_ops_json", c_int32, POINTER(structs.weft_text), Out)
weft_graph_open = plain("weft_graph_open", c_int32, Out, Out)
weft_graph_free = plain("weft_graph_free", c_int32, c_void_p)
weft_graph_set_line = plain("weft_graph_set_line", c_int32, c_void_p, c_void_p, c_uint32, Out)
weft_graph_variable = plain("weft_graph_variable", c_int32, c_void_p, c_void_p, c_int64,
                            POINTER(structs.weft_dim), Out)
weft_graph_input = plain("weft_graph_input", c_int32, c_void_p, c_void_p, c_void_p,
                         POINTER(structs.weft_dim), c_size_t, POINTER(c_int32), Out)
weft_graph_weight = plain("weft_graph_weight", c_int32, c_void_p, c_void_p, c_void_p,
                          POINTER(structs.weft_dim), c_size_t, POINTER(c_int32), Out)
weft_graph_state = plain("weft_graph_state", c_int32, c_void_p, c_void_p, c_void_p,
                         POINTER(structs.weft_dim), c_size_t, POINTER(c_int32), Out)
weft_graph_op = plain("weft_graph_op", c_int32, c_void_p, c_void_p, c_void_p, c_size_t,
                      POINTER(structs.weft_value), c_size_t, POINTER(c_int32), Out)
weft_graph_set_name = plain("weft_graph_set_name", c_int32, c_void_p, c_int32, c_void_p, Out)
weft_graph_push_scope = plain("weft_graph_push_scope", c_int32, c_void_p, c_void_p, Out)
weft_graph_pop_scope = plain("weft_graph_pop_scope", c_int32, c_void_p, Out)
weft_graph_output = plain("weft_graph_output", c_int32, c_void_p, c_void_p, c_int32, Out)
weft_graph_check = plain("weft_graph_check", c_int32, c_void_p, Out)
weft_graph_get_size = short("weft_graph_get_size", c_int32, c_void_p, POINTER(c_int32), Out)
weft_graph_get_tensor = short("weft_graph_get_tensor", c_int32, c_void_p, c_int32,
                              POINTER(structs.weft_tensor_info), Out)
weft_graph_json = plain("weft_graph_json", c_int32, c_void_p, POINTER(structs.weft_text), Out)
weft_graph_dot = plain("weft_graph_dot", c_int32, c_void_p, POINTER(structs.weft_text), Out)
weft_dot_svg = plain("weft_dot_svg", c_int32, c_void_p, c_size_t, POINTER(structs.weft_text), Out)
weft_model_graph = plain("weft_model_graph", c_int32, c_void_p, c_int64, Out, Out)
weft_model_read_tensor = plain("weft_model_read_tensor", c_int32, c_void_p, c_void_p,
                               POINTER(structs.weft_tensor_info), c_void_p, c_size_t,
                               POINTER(c_size_t), Out)
weft_computation_options_init = short("weft_computation_options_init", c_int32,
                                      POINTER(structs.weft_computation_options), c_size_t)
weft_computation_open = plain("weft_computation_open", c_int32, c_void_p,
                              POINTER(structs.weft_computation_options), Out, Out)
weft_computation_free = plain("weft_computation_free", c_int32, c_void_p)
weft_computation_set_weight = plain("weft_computation_set_weight", c_int32, c_void_p, c_void_p,
                                    c_void_p, c_size_t, Out)
weft_computation_get_input = short("weft_computation_get_input", c_int32, c_void_p, c_void_p, Out,
                                   POINTER(c_size_t), Out)
weft_computation_get_state = short("weft_computation_get_state", c_int32, c_void_p, c_void_p, Out,
                                   POINTER(c_size_t), Out)
weft_computation_run = plain("weft_computation_run", c_int32, c_void_p, c_void_p, c_size_t, Out)
weft_computation_cancel = plain("weft_computation_cancel", c_int32, c_void_p)
weft_computation_get_output = short("weft_computation_get_output", c_int32, c_void_p, c_void_p,
                                    POINTER(structs.weft_array), Out)
weft_computation_get_tensor = short("weft_computation_get_tensor", c_int32, c_void_p, c_void_p,
                                    POINTER(structs.weft_array), Out)
weft_computation_verify = plain("weft_computation_verify", c_int32, c_void_p, c_void_p, c_size_t,
                                POINTER(c_int32), POINTER(structs.weft_text), Out)
weft_computation_plan_json = plain("weft_computation_plan_json", c_int32, c_void_p,
                                   POINTER(structs.weft_text), Out)
weft_computation_plan_svg = plain("weft_computation_plan_svg", c_int32, c_void_p,
                                  POINTER(structs.weft_text), Out)
weft_computation_get_plan_hash = short("weft_computation_get_plan_hash", c_int32, c_void_p,
                                       POINTER(c_uint64), Out)
weft_register_op = plain("weft_register_op", c_int32, POINTER(structs.weft_op), Out)
weft_config_integer = plain("weft_config_integer", c_int32, c_void_p, c_void_p, c_int64, c_int64,
                            c_int64, POINTER(c_int64), Out)
weft_config_number = plain("weft_config_number", c_int32, c_void_p, c_void_p, c_double, c_double,
                           c_double, POINTER(c_double), Out)
weft_config_flag = plain("weft_config_flag", c_int32, c_void_p, c_void_p, c_int32, POINTER(c_int32),
                         Out)
weft_config_text = plain("weft_config_text", c_int32, c_void_p, c_void_p, Out, Out)
weft_config_refuse = plain("weft_config_refuse", c_int32, c_void_p, c_void_p, c_void_p, Out)
weft_builder_get_number = short("weft_builder_get_number", c_int32, c_void_p, c_int64, c_void_p,
                                POINTER(c_double), Out)
weft_builder_get_integer = short("weft_builder_get_integer", c_int32, c_void_p, c_int64, c_void_p,
                                 POINTER(c_int64), Out)
weft_builder_get_rope = short("weft_builder_get_rope", c_int32, c_void_p,
                              POINTER(structs.weft_value), c_size_t, POINTER(c_size_t), Out)
weft_builder_get_graph = short("weft_builder_get_graph", c_int32, c_void_p, Out, Out)
weft_builder_get_input = short("weft_builder_get_input", c_int32, c_void_p, c_int32,
                               POINTER(c_int32), Out)
weft_builder_wants_embeddings = plain("weft_builder_wants_embeddings", c_int32, c_void_p,
                                      POINTER(c_int32), Out)
weft_builder_weight = plain("weft_builder_weight", c_int32, c_void_p, c_void_p, c_void_p, c_size_t,
                            c_uint32, POINTER(c_int32), Out)
weft_builder_has_weight = plain("weft_builder_has_weight", c_int32, c_void_p, c_void_p,
                                POINTER(c_int32), Out)
weft_builder_ignore_weight = plain("weft_builder_ignore_weight", c_int32, c_void_p, c_void_p, Out)
weft_builder_begin_block = plain("weft_builder_begin_block", c_int32, c_void_p, c_int64, Out)
weft_builder_end_block = plain("weft_builder_end_block", c_int32, c_void_p, Out)
weft_attend_options_init = short("weft_attend_options_init", c_int32,
                                 POINTER(structs.weft_attend_options), c_size_t)
weft_builder_attend = plain("weft_builder_attend", c_int32, c_void_p, c_int64, c_int32, c_int32,
                            c_int32, POINTER(structs.weft_attend_options), POINTER(c_int32), Out)
weft_builder_attend_stored = plain("weft_builder_attend_stored", c_int32, c_void_p, c_int64,
                                   c_int32, POINTER(structs.weft_attend_options), POINTER(c_int32),
                                   Out)
weft_builder_attend_latent = plain("weft_builder_attend_latent", c_int32, c_void_p, c_int64,
                                   c_int32, c_int32, POINTER(structs.weft_attend_options),
                                   POINTER(c_int32), Out)
weft_builder_recurrent = plain("weft_builder_recurrent", c_int32, c_void_p, c_void_p, c_void_p,
                               c_void_p, c_size_t, c_void_p, c_size_t, POINTER(c_int32), Out)
weft_builder_norm = plain("weft_builder_norm", c_int32, c_void_p, c_void_p, c_int32,
                          POINTER(c_int32), Out)
weft_builder_project = plain("weft_builder_project", c_int32, c_void_p, c_void_p, c_int64, c_int64,
                             c_int32, POINTER(c_int32), Out)
weft_builder_rope_factors = plain("weft_builder_rope_factors", c_int32, c_void_p, POINTER(c_int32),
                                  Out)
weft_builder_head = plain("weft_builder_head", c_int32, c_void_p, c_int32, c_int32,
                          POINTER(c_int32), Out)
weft_register_architecture = plain("weft_register_architecture", c_int32,
                                   POINTER(structs.weft_architecture), Out)
weft_load_extension = plain("weft_load_extension", c_int32, c_void_p, Out)
weft_architectures_json = plain("weft_architectures_json", c_int32, POINTER(structs.weft_text), Out)
weft_inspect_json = plain("weft_inspect_json", c_int32, c_void_p, POINTER(structs.weft_text), Out)
weft_plan_json = plain("weft_plan_json", c_int32, c_void_p, POINTER(structs.weft_session_options),
                       POINTER(structs.weft_text), Out)
weft_verify_json = plain("weft_verify_json", c_int32, c_void_p,
                         POINTER(structs.weft_session_options), c_void_p, c_size_t, c_void_p,
                         POINTER(c_int32), POINTER(structs.weft_text), Out)
weft_selftest_json = plain("weft_selftest_json", c_int32, c_void_p,
                           POINTER(structs.weft_session_options), c_void_p, POINTER(c_int32),
                           POINTER(structs.weft_text), Out)
weft_check_new_model_json = plain("weft_check_new_model_json", c_int32, c_void_p,
                                  POINTER(structs.weft_value), c_size_t, c_void_p, c_void_p,
                                  POINTER(c_int32), POINTER(structs.weft_text), Out)
weft_write_made_model = plain("weft_write_made_model", c_int32, c_void_p,
                              POINTER(structs.weft_value), c_size_t, c_void_p, Out)
weft_bench_options_init = short("weft_bench_options_init", c_int32,
                                POINTER(structs.weft_bench_options), c_size_t)
weft_bench_json = plain("weft_bench_json", c_int32, c_void_p, POINTER(structs.weft_bench_options),
                        c_void_p, POINTER(structs.weft_text), Out)
weft_limits_json = plain("weft_limits_json", c_int32, c_int32, c_int64, c_void_p,
                         POINTER(structs.weft_text), Out)
weft_quantize_options_init = short("weft_quantize_options_init", c_int32,
                                   POINTER(structs.weft_quantize_options), c_size_t)
weft_quantize = plain("weft_quantize", c_int32, c_void_p, c_void_p,
                      POINTER(structs.weft_quantize_options), Out)
weft_convert = plain("weft_convert", c_int32, c_void_p, c_void_p, c_void_p, structs.weft_progress,
                     c_void_p, Out)
