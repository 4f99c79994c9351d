#pragma once
// For tests: made models with keys and tensors of their own, and with a tokenizer.

#include <functional>
#include <string>
#include <vector>

#include "weft/files/checkpoint.h"
#include "weft/files/gguf_writer.h"
#include "weft/files/made_model.h"
#include "weft/run/model.h"

#include "support/temp_folder.h"

namespace weft::test {

struct MadeTextModel {
  std::string arch = "bert";
  std::function<void(arch::MadeSource&)> change = {};  // after learn()
  std::function<void(const std::string& name, std::vector<float>& values)> weights = {};
  bool tokenizer = false;                      // kind "bert": the words of letters a to v, and "w"
  std::function<void(GgufWriter&)> keys = {};  // further ones
};

inline constexpr TokenId kCls = 2, kSep = 3, kMask = 4;

inline void add_word_pieces(GgufWriter& w) {
  std::vector<std::string> tokens{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  for (char c = 'a'; c <= 'v'; ++c) tokens.push_back(std::string("\xE2\x96\x81") + c);
  for (char c = 'a'; c <= 'v'; ++c) tokens.emplace_back(1, c);
  tokens.push_back("\xE2\x96\x81w");
  std::vector<std::int32_t> types(tokens.size(), 1);
  std::fill(types.begin(), types.begin() + 5, 3);
  w.add_string("tokenizer.ggml.model", "bert");
  w.add_strings("tokenizer.ggml.tokens", tokens);
  w.add_i32s("tokenizer.ggml.token_type", types);
  w.add_u32("tokenizer.ggml.unknown_token_id", 1);
  w.add_u32("tokenizer.ggml.bos_token_id", kCls);
  w.add_u32("tokenizer.ggml.seperator_token_id", kSep);
  w.add_u32("tokenizer.ggml.mask_token_id", kMask);
}

inline std::shared_ptr<const Model> made_text_model(const MadeTextModel& about = {}) {
  const TempFolder folder;
  arch::MadeSource source(about.arch);
  source.learn();
  if (about.change) about.change(source);
  write_made_model(source, (folder / "made.gguf").string(), {.change = about.weights});

  const Checkpoint made = Checkpoint::open((folder / "made.gguf").string());
  GgufWriter writer;
  if (about.tokenizer) add_word_pieces(writer);
  if (about.keys) about.keys(writer);
  for (const MetaEntry& entry : made.metadata()) {
    const bool replaced = about.tokenizer && entry.key.starts_with("tokenizer.");
    if (!replaced) writer.add(entry.key, entry.value);
  }
  for (const CheckpointTensor& t : made.tensors()) {
    writer.add_tensor(std::string(t.name), t.spec,
                      std::span(t.data, static_cast<std::size_t>(t.n_bytes)));
  }
  writer.write((folder / "text.gguf").string());
  return Model::load((folder / "text.gguf").string());
}

}  // namespace weft::test
