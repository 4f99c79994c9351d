#pragma once
// For tests: EAGLE-3 heads with random values.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weft/files/gguf_writer.h"
#include "weft/ops/formats/numbers.h"

#include "support/made_adapter.h"

namespace weft::test {

struct MadeHead {
  std::int64_t D = 64, target_D = 64, V = 50;
  std::vector<std::int32_t> layers = {0, 1, 1};  // eagle3.extract_layers
  std::vector<std::int64_t> ids = {};            // d2t; empty: none
  bool own_table = false;                        // token_embd.weight
  bool own_output = true;
  bool norm_before_residual = false;
  std::string without = {};  // the name of a tensor that is left out
  std::uint32_t seed = 1;
  // Called with the writer after the keys were added; may be empty.
  std::function<void(GgufWriter& writer)> more = {};
};

inline void write_head_keys(const MadeHead& about, GgufWriter& writer) {
  const auto size = [&](const std::string& name, std::int64_t value) {
    writer.add_u32("eagle3." + name, static_cast<std::uint32_t>(value));
  };
  writer.add_string("general.architecture", "eagle3");
  writer.add_string("tokenizer.ggml.model", "no_vocab");
  size("context_length", 256);
  size("embedding_length", about.D);
  size("block_count", 1);
  size("feed_forward_length", 96);
  size("vocab_size", about.V);
  size("attention.head_count", 4);
  size("attention.head_count_kv", 2);
  size("target_hidden_size", about.target_D);
  writer.add_f32("eagle3.attention.layer_norm_rms_epsilon", 1e-5F);
  writer.add_bool("eagle3.norm_before_residual", about.norm_before_residual);
  writer.add_i32s("eagle3.extract_layers", about.layers);
  if (about.more) about.more(writer);
}

inline void write_head(const MadeHead& about, const std::string& path) {
  GgufWriter writer;
  write_head_keys(about, writer);
  const std::int64_t D = about.D, kv = D / 2, F = 96;
  std::uint32_t seed = 1000 * about.seed;
  const auto add = [&](const std::string& name, const Shape& shape) {
    ++seed;
    if (name != about.without) add_random(writer, name, shape, seed, 0.3F);
  };
  add("fc.weight", {D, std::ssize(about.layers) * about.target_D});
  for (const char* norm : {"attn_norm", "attn_norm_2", "ffn_norm"})
    add(fmt::format("blk.0.{}.weight", norm), {D});
  add("blk.0.attn_q.weight", {D, 2 * D});
  add("blk.0.attn_k.weight", {kv, 2 * D});
  add("blk.0.attn_v.weight", {kv, 2 * D});
  add("blk.0.attn_output.weight", {D, D});
  add("blk.0.ffn_gate.weight", {F, D});
  add("blk.0.ffn_up.weight", {F, D});
  add("blk.0.ffn_down.weight", {D, F});
  add("output_norm.weight", {D});
  const auto n_ids = std::ssize(about.ids);
  if (about.own_output) add("output.weight", {n_ids > 0 ? n_ids : about.V, D});
  if (about.own_table) add("token_embd.weight", {about.V, D});
  if (n_ids > 0) writer.add_tensor("d2t", {i64, {n_ids}}, std::as_bytes(std::span(about.ids)));
  writer.write(path);
}

}  // namespace weft::test
