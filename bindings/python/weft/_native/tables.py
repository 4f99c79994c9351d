# Made by bindings/c/interface/generate.py from the .toml files beside it. Do not edit it.
# mypy: ignore-errors
"""Options and results as dicts."""

from .values import (c_text_of, int32_in, int64_in, number_of, text_of, uint32_in,
                     uint64_in)

# Members that Options.take() takes, with what converts them.
WEFT_MODEL_OPTIONS = {
    "vocabulary_only": uint32_in,
    "quantize": c_text_of,
    "allow_unknown_settings": uint32_in,
    "draft_file": c_text_of,
}
WEFT_SAMPLER_OPTIONS = {
    "top_k": int32_in,
    "seed": uint64_in,
    "temperature": number_of,
    "top_p": number_of,
    "min_p": number_of,
    "typical_p": number_of,
    "top_n_sigma": number_of,
    "tfs_z": number_of,
    "repeat_penalty": number_of,
    "frequency_penalty": number_of,
    "presence_penalty": number_of,
    "repeat_last_n": int32_in,
    "dynatemp_range": number_of,
    "dynatemp_exponent": number_of,
    "xtc_probability": number_of,
    "xtc_threshold": number_of,
    "dry_multiplier": number_of,
    "dry_base": number_of,
    "dry_allowed_length": int32_in,
    "dry_penalty_last_n": int32_in,
    "mirostat": int32_in,
    "mirostat_tau": number_of,
    "mirostat_eta": number_of,
    "adaptive_target": number_of,
    "adaptive_decay": number_of,
    "order": c_text_of,
}
WEFT_SESSION_OPTIONS = {
    "sequences": int32_in,
    "context": int64_in,
    "cells": int64_in,
    "prefill_width": int64_in,
    "logits_rows": int64_in,
    "workers": int32_in,
    "weights": int32_in,
    "backend": c_text_of,
    "route": c_text_of,
    "cache_k": c_text_of,
    "cache_v": c_text_of,
    "weight_cache": c_text_of,
    "passes_off": c_text_of,
    "executor": c_text_of,
    "mem_budget": int64_in,
    "caller_bytes": int64_in,
    "embeddings": uint32_in,
    "rewind": int64_in,
    "draft_layer": uint32_in,
    "expert_usage": c_text_of,
}
WEFT_SPECULATION_OPTIONS = {
    "n_max": int32_in,
    "type": c_text_of,
    "p_min": number_of,
    "ngram_size_n": int32_in,
    "adaptive": uint32_in,
}
WEFT_GENERATION_OPTIONS = {
    "ignore_eos": uint32_in,
    "token_healing": uint32_in,
    "max_tokens": int64_in,
    "min_tokens": int64_in,
    "max_time_ms": int64_in,
    "n_logprobs": int32_in,
    "prompt_logprobs": uint32_in,
    "decode_flags": uint32_in,
    "context_end": c_text_of,
    "keep": int64_in,
    "discard": int64_in,
    "cache_evict": int64_in,
}
WEFT_BEAM_OPTIONS = {
    "beams": int32_in,
    "length_penalty": number_of,
    "stopping": c_text_of,
}
WEFT_DIFFUSION_OPTIONS = {
    "mask_token": int32_in,
    "max_tokens": int64_in,
    "steps": int64_in,
    "block_length": int64_in,
    "algorithm": c_text_of,
    "algorithm_temperature": number_of,
    "eps": number_of,
    "guidance": number_of,
    "shift_logits": int32_in,
}
WEFT_CHAT_TURN = {
    "single_call": uint32_in,
    "messages": c_text_of,
    "tools": c_text_of,
    "tool_choice": c_text_of,
    "variables": c_text_of,
    "constraint": c_text_of,
    "constraint_kind": int32_in,
    "answer_final_message": uint32_in,
    "reasoning_in_content": uint32_in,
    "early_calls": uint32_in,
}
WEFT_EMBEDDER_OPTIONS = {
    "pooling": c_text_of,
    "max_tokens": int64_in,
    "texts_per_step": int32_in,
}
WEFT_COMPUTATION_OPTIONS = {
    "workers": int32_in,
    "backend": c_text_of,
    "route": c_text_of,
    "passes_off": c_text_of,
    "separate_tensors": uint32_in,
    "mem_budget": int64_in,
}
WEFT_ATTEND_OPTIONS = {
    "both_ways": uint32_in,
    "window": int64_in,
    "chunk": int64_in,
    "scale": number_of,
    "softcap": number_of,
    "alibi": number_of,
    "sinks": int32_in,
    "distances": int32_in,
}
WEFT_BENCH_OPTIONS = {
    "repeats": int32_in,
    "prompt_tokens": int64_in,
    "generated_tokens": int64_in,
    "depth": int64_in,
}
WEFT_QUANTIZE_OPTIONS = {
    "pure": uint32_in,
    "type": c_text_of,
    "tensor_types": c_text_of,
    "output_type": c_text_of,
    "embedding_type": c_text_of,
    "imatrix": c_text_of,
    "leave_output": uint32_in,
    "allow_requantize": uint32_in,
    "nonfinite_to_zero": uint32_in,
    "workers": int32_in,
}


def model_info_dict(info):
    return {
        "flags": info.flags,
        "architecture": text_of(info.architecture),
        "name": text_of(info.name),
        "path": text_of(info.path),
        "n_layers": info.n_layers,
        "n_embd": info.n_embd,
        "n_vocab": info.n_vocab,
        "context": info.context,
        "n_params": info.n_params,
        "weight_bytes": info.weight_bytes,
        "token_types": info.token_types,
        "start": info.start,
        "n_loras": info.n_loras,
    }


def session_info_dict(info):
    return {
        "sequences": info.sequences,
        "context": info.context,
        "prefill_width": info.prefill_width,
        "logits_rows": info.logits_rows,
        "row_width": info.row_width,
        "allocated_bytes": info.allocated_bytes,
        "workers": info.workers,
        "embeddings": info.embeddings,
    }


def speculation_info_dict(info):
    return {
        "n_max": info.n_max,
        "type": text_of(info.type),
        "n_drafted": info.n_drafted,
        "n_accepted": info.n_accepted,
        "seconds": info.seconds,
        "seconds_without": info.seconds_without,
    }


def generation_info_dict(info):
    return {
        "sequence": info.sequence,
        "tokens": info.tokens[:info.n_tokens],
        "n_prompt": info.n_prompt,
        "n_reused": info.n_reused,
        "n_new": info.n_new,
        "n_pending": info.n_pending,
        "n_held": info.n_held,
        "ended": info.ended,
        "stop_string": text_of(info.stop_string),
        "n_guessed": info.n_guessed,
        "n_dropped": info.n_dropped,
    }


def diffusion_info_dict(info):
    return {
        "sequence": info.sequence,
        "tokens": info.tokens[:info.n_tokens],
        "n_prompt": info.n_prompt,
        "n_masked": info.n_masked,
        "n_steps": info.n_steps,
        "steps_done": info.steps_done,
    }
