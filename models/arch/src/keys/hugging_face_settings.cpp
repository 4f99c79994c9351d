// Keys of config.json that mean the same for all models. Source: PretrainedConfig and the classes
// of the models in https://github.com/huggingface/transformers/tree/main/src/transformers.

#include "weft/arch/hugging_face.h"

namespace weft::arch {
namespace {

constexpr HfSetting kSettings[] = {
    {"use_bidirectional_attention", {"false"}}, {"is_encoder_decoder", {"false"}},
    {"add_cross_attention", {"false"}},         {"cross_attention_hidden_size"},
    {"tie_encoder_decoder", {"false"}},         {"scale_attn_weights", {"true"}},
};

constexpr std::string_view kIgnored[] = {
    // What the checkpoint is, and who wrote it.
    "_attn_implementation",
    "_attn_implementation_autoset",
    "_commit_hash",
    "_flash_attn_2_enabled",
    "_from_model_config",
    "_name_or_path",
    "architectures",
    "attn_implementation",
    "auto_map",
    "custom_pipelines",
    "dtype",
    "finetuning_task",
    "internal_version",
    "license",
    "name_or_path",
    "tokenizer_class",
    "torch_dtype",
    "transformers.js_config",
    "transformers_version",
    "unsloth_fixed",
    "unsloth_version",
    // Training, and the start of it.
    "activation_dropout",
    "attention_dropout",
    "attention_probs_dropout_prob",
    "attn_pdrop",
    "classifier_dropout",
    "classifier_dropout_prob",
    "dropout",
    "dropout_rate",
    "embd_pdrop",
    "embedding_dropout",
    "ffn_dropout",
    "gradient_checkpointing",
    "hidden_dropout",
    "hidden_dropout_prob",
    "initializer_factor",
    "initializer_range",
    "neftune_noise_alpha",
    "output_router_logits",
    "resid_pdrop",
    "residual_dropout",
    "router_aux_loss_coef",
    "router_jitter_noise",
    "summary_first_dropout",
    "tf_legacy_loss",
    // How the same is computed.
    "cache_implementation",
    "chunk_size_feed_forward",
    "logits_to_keep",
    "num_logits_to_keep",
    "pretraining_tp",
    "torchscript",
    "use_bfloat16",
    "use_cache",
    "use_flash_attn",
    // What the tensors show.
    "attention_bias",
    "attention_out_bias",
    "lm_head_bias",
    "mlp_bias",
    "pruned_heads",
    "qkv_bias",
    "type_vocab_size",
    "use_bias",
    // Outputs, and heads for tasks.
    "_num_labels",
    "id2label",
    "is_decoder",
    "label2id",
    "num_labels",
    "output_attentions",
    "output_hidden_states",
    "output_past",
    "output_scores",
    "problem_type",
    "return_dict",
    "sbert_ce_default_activation_function",  // of scores; ours are logits
    "sentence_transformers",
    "return_dict_in_generate",
    "summary_activation",
    "summary_proj_to_labels",
    "summary_type",
    "summary_use_proj",
    "task_specific_params",
    // Tokens, and how texts are generated.
    "bad_words_ids",
    "begin_suppress_tokens",
    "bos_token_id",
    "cls_token_id",
    "decoder_start_token_id",
    "diversity_penalty",
    "do_sample",
    "early_stopping",
    "encoder_no_repeat_ngram_size",
    "eos_token_id",
    "exponential_decay_length_penalty",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "length_penalty",
    "mask_token_id",
    "max_length",
    "max_new_tokens",
    "min_length",
    "no_repeat_ngram_size",
    "num_beam_groups",
    "num_beams",
    "num_return_sequences",
    "pad_token_id",
    "prefix",
    "remove_invalid_values",
    "repetition_penalty",
    "sep_token_id",
    "suppress_tokens",
    "temperature",
    "top_k",
    "top_p",
    "typical_p",
    "unk_token_id",
    // Other parts of the model.
    "audio_config",
    "audio_token_id",
    "image_token_id",
    "image_token_index",
    "video_token_id",
    "vision_config",
    "vision_end_token_id",
    "vision_start_token_id",
    "vision_token_id",
};

}  // namespace

std::span<const HfSetting> usual_hf_settings() {
  return kSettings;
}
std::span<const std::string_view> usual_hf_ignored() {
  return kIgnored;
}

}  // namespace weft::arch
