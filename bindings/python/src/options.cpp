// Made by bindings/c/interface/generate.py from the .toml files beside it. Do not edit it.
#include "classes.h"

namespace weft_python {

void take_members(Options& reader, weft_model_options& options) {
  reader.take("vocabulary_only", options.vocabulary_only);
  reader.take("quantize", options.quantize);
  reader.take("allow_unknown_settings", options.allow_unknown_settings);
  reader.take("draft_file", options.draft_file);
}

void take_members(Options& reader, weft_sampler_options& options) {
  reader.take("top_k", options.top_k);
  reader.take("seed", options.seed);
  reader.take("temperature", options.temperature);
  reader.take("top_p", options.top_p);
  reader.take("min_p", options.min_p);
  reader.take("typical_p", options.typical_p);
  reader.take("top_n_sigma", options.top_n_sigma);
  reader.take("tfs_z", options.tfs_z);
  reader.take("repeat_penalty", options.repeat_penalty);
  reader.take("frequency_penalty", options.frequency_penalty);
  reader.take("presence_penalty", options.presence_penalty);
  reader.take("repeat_last_n", options.repeat_last_n);
  reader.take("dynatemp_range", options.dynatemp_range);
  reader.take("dynatemp_exponent", options.dynatemp_exponent);
  reader.take("xtc_probability", options.xtc_probability);
  reader.take("xtc_threshold", options.xtc_threshold);
  reader.take("dry_multiplier", options.dry_multiplier);
  reader.take("dry_base", options.dry_base);
  reader.take("dry_allowed_length", options.dry_allowed_length);
  reader.take("dry_penalty_last_n", options.dry_penalty_last_n);
  reader.take("mirostat", options.mirostat);
  reader.take("mirostat_tau", options.mirostat_tau);
  reader.take("mirostat_eta", options.mirostat_eta);
  reader.take("adaptive_target", options.adaptive_target);
  reader.take("adaptive_decay", options.adaptive_decay);
  reader.take("order", options.order);
}

void take_members(Options& reader, weft_session_options& options) {
  reader.take("sequences", options.sequences);
  reader.take("context", options.context);
  reader.take("cells", options.cells);
  reader.take("prefill_width", options.prefill_width);
  reader.take("logits_rows", options.logits_rows);
  reader.take("workers", options.workers);
  reader.take("weights", options.weights);
  reader.take("backend", options.backend);
  reader.take("route", options.route);
  reader.take("cache_k", options.cache_k);
  reader.take("cache_v", options.cache_v);
  reader.take("weight_cache", options.weight_cache);
  reader.take("passes_off", options.passes_off);
  reader.take("executor", options.executor);
  reader.take("mem_budget", options.mem_budget);
  reader.take("caller_bytes", options.caller_bytes);
  reader.take("embeddings", options.embeddings);
  reader.take("rewind", options.rewind);
  reader.take("draft_layer", options.draft_layer);
  reader.take("expert_usage", options.expert_usage);
}

void take_members(Options& reader, weft_speculation_options& options) {
  reader.take("n_max", options.n_max);
  reader.take("type", options.type);
  reader.take("p_min", options.p_min);
  reader.take("ngram_size_n", options.ngram_size_n);
  reader.take("adaptive", options.adaptive);
}

void take_members(Options& reader, weft_generation_options& options) {
  reader.take("ignore_eos", options.ignore_eos);
  reader.take("token_healing", options.token_healing);
  reader.take("max_tokens", options.max_tokens);
  reader.take("min_tokens", options.min_tokens);
  reader.take("max_time_ms", options.max_time_ms);
  reader.take("n_logprobs", options.n_logprobs);
  reader.take("prompt_logprobs", options.prompt_logprobs);
  reader.take("decode_flags", options.decode_flags);
  reader.take("context_end", options.context_end);
  reader.take("keep", options.keep);
  reader.take("discard", options.discard);
  reader.take("cache_evict", options.cache_evict);
}

void take_members(Options& reader, weft_beam_options& options) {
  reader.take("beams", options.beams);
  reader.take("length_penalty", options.length_penalty);
  reader.take("stopping", options.stopping);
}

void take_members(Options& reader, weft_diffusion_options& options) {
  reader.take("mask_token", options.mask_token);
  reader.take("max_tokens", options.max_tokens);
  reader.take("steps", options.steps);
  reader.take("block_length", options.block_length);
  reader.take("algorithm", options.algorithm);
  reader.take("algorithm_temperature", options.algorithm_temperature);
  reader.take("eps", options.eps);
  reader.take("guidance", options.guidance);
  reader.take("shift_logits", options.shift_logits);
}

void take_members(Options& reader, weft_chat_turn& options) {
  reader.take("single_call", options.single_call);
  reader.take("messages", options.messages);
  reader.take("tools", options.tools);
  reader.take("tool_choice", options.tool_choice);
  reader.take("variables", options.variables);
  reader.take("constraint", options.constraint);
  reader.take("constraint_kind", options.constraint_kind);
  reader.take("answer_final_message", options.answer_final_message);
  reader.take("reasoning_in_content", options.reasoning_in_content);
  reader.take("early_calls", options.early_calls);
}

void take_members(Options& reader, weft_embedder_options& options) {
  reader.take("pooling", options.pooling);
  reader.take("max_tokens", options.max_tokens);
  reader.take("texts_per_step", options.texts_per_step);
}

void take_members(Options& reader, weft_computation_options& options) {
  reader.take("workers", options.workers);
  reader.take("backend", options.backend);
  reader.take("route", options.route);
  reader.take("passes_off", options.passes_off);
  reader.take("separate_tensors", options.separate_tensors);
  reader.take("mem_budget", options.mem_budget);
}

void take_members(Options& reader, weft_attend_options& options) {
  reader.take("both_ways", options.both_ways);
  reader.take("window", options.window);
  reader.take("chunk", options.chunk);
  reader.take("scale", options.scale);
  reader.take("softcap", options.softcap);
  reader.take("alibi", options.alibi);
  reader.take("sinks", options.sinks);
  reader.take("distances", options.distances);
}

void take_members(Options& reader, weft_bench_options& options) {
  reader.take("repeats", options.repeats);
  reader.take("prompt_tokens", options.prompt_tokens);
  reader.take("generated_tokens", options.generated_tokens);
  reader.take("depth", options.depth);
}

void take_members(Options& reader, weft_quantize_options& options) {
  reader.take("pure", options.pure);
  reader.take("type", options.type);
  reader.take("tensor_types", options.tensor_types);
  reader.take("output_type", options.output_type);
  reader.take("embedding_type", options.embedding_type);
  reader.take("imatrix", options.imatrix);
  reader.take("leave_output", options.leave_output);
  reader.take("allow_requantize", options.allow_requantize);
  reader.take("nonfinite_to_zero", options.nonfinite_to_zero);
  reader.take("workers", options.workers);
}

py::dict dict_of(const weft_model_info& info) {
  py::dict all;
  all["flags"] = info.flags;
  all["architecture"] = text_of(info.architecture);
  all["name"] = text_of(info.name);
  all["path"] = text_of(info.path);
  all["n_layers"] = info.n_layers;
  all["n_embd"] = info.n_embd;
  all["n_vocab"] = info.n_vocab;
  all["context"] = info.context;
  all["n_params"] = info.n_params;
  all["weight_bytes"] = info.weight_bytes;
  all["token_types"] = info.token_types;
  all["start"] = info.start;
  all["n_loras"] = info.n_loras;
  return all;
}

py::dict dict_of(const weft_session_info& info) {
  py::dict all;
  all["sequences"] = info.sequences;
  all["context"] = info.context;
  all["prefill_width"] = info.prefill_width;
  all["logits_rows"] = info.logits_rows;
  all["row_width"] = info.row_width;
  all["allocated_bytes"] = info.allocated_bytes;
  all["workers"] = info.workers;
  all["embeddings"] = info.embeddings;
  return all;
}

py::dict dict_of(const weft_speculation_info& info) {
  py::dict all;
  all["n_max"] = info.n_max;
  all["type"] = text_of(info.type);
  all["n_drafted"] = info.n_drafted;
  all["n_accepted"] = info.n_accepted;
  all["seconds"] = info.seconds;
  all["seconds_without"] = info.seconds_without;
  return all;
}

py::dict dict_of(const weft_generation_info& info) {
  py::dict all;
  all["sequence"] = info.sequence;
  all["tokens"] = std::vector<weft_token>(info.tokens, info.tokens + info.n_tokens);
  all["n_prompt"] = info.n_prompt;
  all["n_reused"] = info.n_reused;
  all["n_new"] = info.n_new;
  all["n_pending"] = info.n_pending;
  all["n_held"] = info.n_held;
  all["ended"] = info.ended;
  all["stop_string"] = text_of(info.stop_string);
  all["n_guessed"] = info.n_guessed;
  all["n_dropped"] = info.n_dropped;
  return all;
}

py::dict dict_of(const weft_diffusion_info& info) {
  py::dict all;
  all["sequence"] = info.sequence;
  all["tokens"] = std::vector<weft_token>(info.tokens, info.tokens + info.n_tokens);
  all["n_prompt"] = info.n_prompt;
  all["n_masked"] = info.n_masked;
  all["n_steps"] = info.n_steps;
  all["steps_done"] = info.steps_done;
  return all;
}

namespace {

constexpr std::pair<const char*, int> kConstants[] = {
    {"MODEL_CAUSAL", WEFT_MODEL_CAUSAL},
    {"MODEL_HAS_OUTPUT", WEFT_MODEL_HAS_OUTPUT},
    {"MODEL_ENCODES", WEFT_MODEL_ENCODES},
    {"MODEL_DIFFUSES", WEFT_MODEL_DIFFUSES},
    {"MODEL_HAS_TOKENIZER", WEFT_MODEL_HAS_TOKENIZER},
    {"MODEL_VOCABULARY_ONLY", WEFT_MODEL_VOCABULARY_ONLY},
    {"MODEL_RECURRENT", WEFT_MODEL_RECURRENT},
    {"MODEL_DRAFTS", WEFT_MODEL_DRAFTS},
    {"DETOKENIZE_SHOW_SPECIAL", WEFT_DETOKENIZE_SHOW_SPECIAL},
    {"DETOKENIZE_STRIP_SPACE_PREFIX", WEFT_DETOKENIZE_STRIP_SPACE_PREFIX},
    {"DETOKENIZE_REPLACE_INVALID", WEFT_DETOKENIZE_REPLACE_INVALID},
    {"TOKEN_CONTROL", WEFT_TOKEN_CONTROL},
    {"TOKEN_ENDS_TEXT", WEFT_TOKEN_ENDS_TEXT},
    {"TOKEN_HIDDEN", WEFT_TOKEN_HIDDEN},
    {"TOKEN_BYTE", WEFT_TOKEN_BYTE},
    {"TOKEN_USER_DEFINED", WEFT_TOKEN_USER_DEFINED},
    {"TOKEN_UNKNOWN", WEFT_TOKEN_UNKNOWN},
    {"TOKEN_UNUSED", WEFT_TOKEN_UNUSED},
    {"SPECIAL_BOS", WEFT_SPECIAL_BOS},
    {"SPECIAL_EOS", WEFT_SPECIAL_EOS},
    {"SPECIAL_EOT", WEFT_SPECIAL_EOT},
    {"SPECIAL_EOM", WEFT_SPECIAL_EOM},
    {"SPECIAL_UNK", WEFT_SPECIAL_UNK},
    {"SPECIAL_SEP", WEFT_SPECIAL_SEP},
    {"SPECIAL_PAD", WEFT_SPECIAL_PAD},
    {"SPECIAL_CLS", WEFT_SPECIAL_CLS},
    {"SPECIAL_MASK", WEFT_SPECIAL_MASK},
    {"SPECIAL_FIM_PREFIX", WEFT_SPECIAL_FIM_PREFIX},
    {"SPECIAL_FIM_SUFFIX", WEFT_SPECIAL_FIM_SUFFIX},
    {"SPECIAL_FIM_MIDDLE", WEFT_SPECIAL_FIM_MIDDLE},
    {"SPECIAL_FIM_PAD", WEFT_SPECIAL_FIM_PAD},
    {"SPECIAL_FIM_REPOSITORY", WEFT_SPECIAL_FIM_REPOSITORY},
    {"SPECIAL_FIM_FILE", WEFT_SPECIAL_FIM_FILE},
    {"SPECIAL_NEWLINE", WEFT_SPECIAL_NEWLINE},
    {"GRAMMAR_GBNF", WEFT_GRAMMAR_GBNF},
    {"GRAMMAR_JSON_SCHEMA", WEFT_GRAMMAR_JSON_SCHEMA},
    {"GRAMMAR_JSON_OBJECT", WEFT_GRAMMAR_JSON_OBJECT},
    {"GRAMMAR_REGEX", WEFT_GRAMMAR_REGEX},
    {"GRAMMAR_CHOICE", WEFT_GRAMMAR_CHOICE},
    {"WEIGHTS_AUTO", WEFT_WEIGHTS_AUTO},
    {"WEIGHTS_MAPPED", WEFT_WEIGHTS_MAPPED},
    {"WEIGHTS_RESIDENT", WEFT_WEIGHTS_RESIDENT},
    {"WEIGHTS_STREAMED", WEFT_WEIGHTS_STREAMED},
    {"STOP_NONE", WEFT_STOP_NONE},
    {"STOP_END_OF_TEXT", WEFT_STOP_END_OF_TEXT},
    {"STOP_STRING", WEFT_STOP_STRING},
    {"STOP_COMPLETE", WEFT_STOP_COMPLETE},
    {"STOP_MAX_TOKENS", WEFT_STOP_MAX_TOKENS},
    {"STOP_MAX_TIME", WEFT_STOP_MAX_TIME},
    {"STOP_CONTEXT_FULL", WEFT_STOP_CONTEXT_FULL},
    {"STOP_CANCELLED", WEFT_STOP_CANCELLED},
    {"REPLY_CONTENT", WEFT_REPLY_CONTENT},
    {"REPLY_REASONING", WEFT_REPLY_REASONING},
    {"REPLY_CALL_BEGIN", WEFT_REPLY_CALL_BEGIN},
    {"REPLY_CALL_ARGUMENTS", WEFT_REPLY_CALL_ARGUMENTS},
    {"REPLY_CALL_END", WEFT_REPLY_CALL_END},
    {"REPLY_CALL_DROPPED", WEFT_REPLY_CALL_DROPPED},
    {"INPUT_TOKENS", WEFT_INPUT_TOKENS},
    {"INPUT_POSITIONS", WEFT_INPUT_POSITIONS},
    {"INPUT_OUT_ROWS", WEFT_INPUT_OUT_ROWS},
    {"WEIGHT_OPTIONAL", WEFT_WEIGHT_OPTIONAL},
    {"WEIGHT_SQUEEZED", WEFT_WEIGHT_SQUEEZED},
    {"WEIGHT_STACKED", WEFT_WEIGHT_STACKED},
    {"ARCHITECTURE_LAYER_NORM", WEFT_ARCHITECTURE_LAYER_NORM},
    {"ARCHITECTURE_BOTH_WAYS", WEFT_ARCHITECTURE_BOTH_WAYS},
    {"ARCHITECTURE_EXPERTS", WEFT_ARCHITECTURE_EXPERTS},
    {"ARCHITECTURE_DIFFUSES", WEFT_ARCHITECTURE_DIFFUSES},
    {"ARCHITECTURE_REPLACES", WEFT_ARCHITECTURE_REPLACES},
};

}  // namespace

void add_constants(py::module_& m) {
  for (const auto& [name, value] : kConstants) m.attr(name) = value;
}

void add_classes(py::module_& m) {
  py::class_<Model>(m, "Model").def("close", &Model::close);
  py::class_<Detokenizer>(m, "Detokenizer");
  py::class_<Grammar>(m, "Grammar");
  py::class_<Constraint>(m, "Constraint");
  py::class_<Sampler>(m, "Sampler");
  py::class_<Session>(m, "Session").def("close", &Session::close);
  py::class_<Saved>(m, "Saved");
  py::class_<Speculation>(m, "Speculation").def("close", &Speculation::close);
  py::class_<Generation>(m, "Generation").def("close", &Generation::close);
  py::class_<Batch>(m, "Batch");
  py::class_<Diffusion>(m, "Diffusion");
  py::class_<Chat>(m, "Chat");
  py::class_<ChatPlan>(m, "ChatPlan");
  py::class_<Reply>(m, "Reply");
  py::class_<Embedder>(m, "Embedder").def("close", &Embedder::close);
  py::class_<Graph>(m, "Graph");
  py::class_<Computation>(m, "Computation");
  py::class_<Keys>(m, "Keys");
  py::class_<Builder>(m, "Builder");
}

}  // namespace weft_python
