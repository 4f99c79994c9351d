// Uses arbitrary bytes as one file of an otherwise valid safetensors directory; the first byte
// chooses which. Opening must succeed or throw weft::Error. An opened directory must be readable,
// row by row and as a vocabulary.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/error.h"
#include "weft/files/checkpoint.h"
#include "weft/files/vocabulary_file.h"
#include "weft/tokenize/tokenizer.h"

#include "support/temp_folder.h"

namespace {

struct Piece {
  const char* name;
  std::string text;
};

std::string weights() {
  std::string header =
      R"({"model.embed_tokens.weight":{"dtype":"F16","shape":[4,2],"data_offsets":[0,16]},)"
      R"("model.layers.0.self_attn.q_proj.weight":{"dtype":"BF16","shape":[4,2],"data_offsets":[16,32]}})";
  header.append((8 - header.size() % 8) % 8, ' ');
  const std::string length = {static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0};
  return length + header + std::string(32, '\0');
}

const std::array<Piece, 6>& pieces() {
  static const std::array<Piece, 6> all = {{
      {"model.safetensors", weights()},
      {"config.json",
       R"({"model_type":"llama","vocab_size":4,"max_position_embeddings":64,"hidden_size":2,)"
       R"("num_hidden_layers":1,"intermediate_size":4,"num_attention_heads":1,"tie_word_embeddings":true})"},
      {"tokenizer.json", R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]},)"
                         R"("pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},)"
                         R"("added_tokens":[{"id":3,"content":"<e>","special":true}]})"},
      {"tokenizer_config.json", R"({"eos_token":"<e>"})"},
      {"generation_config.json", "{}"},
      {"model.safetensors.index.json", ""},
  }};
  return all;
}

// A folder of valid files. The index exists only while it is the input.
const weft::test::TempFolder& folder() {
  static const weft::test::TempFolder made;
  return made;
}

void write(const Piece& piece, std::string_view text) {
  const auto path = folder() / piece.name;
  if (text.empty() && piece.text.empty()) {
    std::filesystem::remove(path);
  } else {
    std::ofstream(path, std::ios::binary) << text;
  }
}

void read_all(const weft::Checkpoint& file) {
  for (const weft::CheckpointTensor& t : file.tensors()) {
    std::vector<std::byte> rows(static_cast<std::size_t>(t.n_bytes));
    copy_rows(t, 0, t.n_rows(), rows.data());
    if (file.find_tensor(t.name) != &t) std::abort();
  }
  weft::make_tokenizer(weft::read_vocabulary(file))->encode("ab <e> a");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool written = [] {
    for (const Piece& piece : pieces()) write(piece, piece.text);
    return true;
  }();
  if (!written || size == 0) return 0;
  const Piece& piece = pieces()[data[0] % pieces().size()];
  write(piece, {reinterpret_cast<const char*>(data) + 1, size - 1});
  // An index counts only if there is no single file; the shard has another name.
  const bool index = piece.text.empty();
  const auto single = folder() / "model.safetensors", shard = folder() / "s.safetensors";
  if (index) std::filesystem::rename(single, shard);
  try {
    read_all(weft::Checkpoint::open(folder().path().string()));
  } catch (const weft::Error&) {
  }
  if (index) std::filesystem::rename(shard, single);
  write(piece, piece.text);
  return 0;
}
