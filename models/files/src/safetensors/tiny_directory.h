#pragma once
// For tests: directories as small as they can be, right or wrong.

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/error.h"
#include "weft/files/checkpoint.h"

#include "safetensors/json.h"
#include "support/temp_folder.h"

namespace weft::test {

using safetensors::Json;

// A file with this header and data. `length` replaces the length of the header.
inline std::string stored_file(const std::string& header, const std::string& data = "",
                               std::uint64_t length = UINT64_MAX) {
  if (length == UINT64_MAX) length = header.size();
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> (8 * i) & 0xff);
  return bytes + header + data;
}

// Tensors with zeros for data: name, dtype, shape, bytes.
struct Stored {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::size_t n_bytes;
};
inline std::string stored_file(const std::vector<Stored>& tensors) {
  Json header = Json::object();
  std::size_t at = 0;
  for (const Stored& t : tensors) {
    header[t.name] = {
        {"dtype", t.dtype}, {"shape", t.shape}, {"data_offsets", {at, at + t.n_bytes}}};
    at += t.n_bytes;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  return stored_file(text, std::string(at, '\0'));
}

// Four tokens, a table of embeddings of two columns and nothing else: enough to be opened.
class TinyDirectory {
 public:
  Json config = {{"model_type", "llama"},         {"vocab_size", 4},
                 {"max_position_embeddings", 64}, {"hidden_size", 32},
                 {"num_hidden_layers", 1},        {"intermediate_size", 4},
                 {"num_attention_heads", 2},      {"tie_word_embeddings", true}};
  Json tokenizer = {
      {"model", {{"type", "BPE"}, {"vocab", {{"a", 0}, {"b", 1}, {"ab", 2}}}, {"merges", {"a b"}}}},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
      {"added_tokens", {{{"id", 3}, {"content", "<e>"}, {"special", true}}}}};
  Json tokenizer_config = {{"eos_token", "<e>"}};
  bool without_tokenizer = false;  // no tokenizer.json
  std::vector<Stored> tensors = {{"model.embed_tokens.weight", "F16", {4, 2}, 16}};

  std::string path() const { return folder_.path().string(); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  // Keeps files that the test wrote itself.
  Checkpoint open() const {
    write_unless_there("config.json", config.dump());
    if (!without_tokenizer) write_unless_there("tokenizer.json", tokenizer.dump());
    write_unless_there("tokenizer_config.json", tokenizer_config.dump());
    if (!std::filesystem::exists(folder_ / "model.safetensors.index.json"))
      write_unless_there("model.safetensors", stored_file(tensors));
    return Checkpoint::open(path());
  }
  // The message of open(), without the path; "" if there is none.
  std::string error() const {
    try {
      open();
    } catch (const Error& e) {
      std::string text = e.what();
      for (std::size_t at = 0; (at = text.find(path(), at)) != std::string::npos;)
        text.replace(at, path().size(), "DIR");
      return text;
    }
    return "";
  }

 private:
  void write_unless_there(const std::string& name, const std::string& text) const {
    if (!std::filesystem::exists(folder_ / name)) write(name, text);
  }
  TempFolder folder_;
};

inline bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace weft::test
