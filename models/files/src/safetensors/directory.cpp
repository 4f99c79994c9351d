#include "safetensors/directory.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <tuple>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/ops/formats/format.h"

#include "checkpoint_builder.h"
#include "safetensors/config.h"
#include "safetensors/json.h"
#include "safetensors/names.h"
#include "safetensors/shards.h"
#include "safetensors/special_tokens.h"
#include "safetensors/tokenizer_json.h"

namespace weft::safetensors {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxConfig = std::size_t{16} << 20;
constexpr std::size_t kMaxTokenizer = std::size_t{64} << 20;
constexpr std::uint64_t kMaxVocabulary = std::uint64_t{1} << 22;
constexpr std::int64_t kMaxVector = std::int64_t{1} << 24;  // elements of norms and biases

// The last component of the directory's absolute path.
std::string model_name(const std::string& path) {
  std::error_code error;
  const fs::path full = fs::canonical(path, error);
  return error ? std::string() : printable(full.filename().string());
}

// A tensor that stays in its shard.
struct Mapped {
  std::uint32_t order = 0;
  CheckpointTensor tensor;  // its name is kept by the builder
};

// Builds the parts of the model from the files.
class Reader {
 public:
  explicit Reader(const std::string& path)
      : path_(path), shards_(open_shards(path)), config_path_(join("config.json")) {
    const auto text = read_text(config_path_, kMaxConfig);
    if (!text) fail<IoError>("{}: 'config.json' is missing", printable_path(path_));
    config_json_ = parse_json(*text, config_path_);
  }

  files::OpenedFiles read() {
    const JsonObject json(config_json_, config_path_);
    config_ = read_config(json, model_name(path_), builder_);
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      for (const StoredTensor& tensor : shards_[i].tensors) add(tensor, i);
    }
    check_output();
    check_vocabulary(json);
    if (!config_.rope_factors.empty()) {
      builder_.add_floats("rope_freqs.weight", config_.rope_factors);
    }
    read_text_files(json);
    return finish();
  }

 private:
  std::string join(const char* name) const { return (fs::path(path_) / name).string(); }

  template <class E = FormatError, class... Args>
  [[noreturn]] void refuse(const StoredTensor& tensor, std::size_t shard,
                           fmt::format_string<Args...> text, Args&&... args) const {
    throw E(fmt::format("{}: tensor '{}': ", printable_path(shards_[shard].path),
                        printable(tensor.name)) +
            fmt::format(text, std::forward<Args>(args)...));
  }

  void add(const StoredTensor& stored, std::size_t shard) {
    const HuggingFace& tables = config_.architecture->hugging_face;
    TensorRole role = find_role(tables, stored.name);
    if (!role.known) {
      refuse(stored, shard, "models of type '{}' have no such tensor", config_.type);
    }
    if (role.name.empty()) return;
    if (config_.tied && role.name == "output.weight") return;
    if (!names_.insert(role.name).second) refuse(stored, shard, "exists under two names");
    if (!stored.type.valid()) {
      refuse<UnsupportedError>(
          stored, shard, "dtype {} is not supported (supported: F32, F16, BF16)", stored.type_name);
    }
    CheckpointTensor tensor{.spec = {stored.type, shape_of(stored, shard)},
                            .data = shards_[shard].map.bytes().data() + stored.offset,
                            .n_bytes = static_cast<std::int64_t>(stored.n_bytes),
                            .part = static_cast<std::int32_t>(shard + 1),
                            .file_offset = stored.offset};
    if (tables.paired_rows && role.rows != HfTensor::Rows::as_stored)
      tensor.paired_rows = head_rows(stored, shard, role.rows);
    const bool vector = tensor.spec.shape.rank() == 1;
    if (vector && (stored.type != f32 || tensor.paired_rows != 0)) {
      builder_.add_floats(role.name, floats_of(tensor, stored, shard));
    } else {
      tensor.name = builder_.keep(role.name);
      mapped_.push_back({role.order, tensor});
    }
  }

  Shape shape_of(const StoredTensor& stored, std::size_t shard) const {
    if (stored.shape.size() > kMaxRank)
      refuse(stored, shard, "has {} dimensions, at most {} are supported", stored.shape.size(),
             kMaxRank);
    std::array<Dim, kMaxRank> dims{1};  // a tensor without dimensions is one element
    for (std::size_t i = 0; i < stored.shape.size(); ++i) {
      if (stored.shape[i] == 0) refuse(stored, shard, "dimension {} is 0", i);
      dims[i] = stored.shape[i];
    }
    return Shape(std::span(dims).first(std::max<std::size_t>(stored.shape.size(), 1)));
  }

  // Rows of one head.
  std::int64_t head_rows(const StoredTensor& stored, std::size_t shard, HfTensor::Rows rows) const {
    const bool query = rows == HfTensor::Rows::query_heads;
    const std::uint64_t heads = query ? config_.n_heads : config_.n_kv_heads;
    const auto n_rows = static_cast<std::uint64_t>(stored.shape.empty() ? 1 : stored.shape[0]);
    if (n_rows % (2 * heads) != 0)
      refuse(stored, shard, "{} rows are not {} heads of an even number of rows", n_rows, heads);
    return static_cast<std::int64_t>(n_rows / heads);
  }

  // Norms and biases, which are F32 in GGUF files.
  std::vector<float> floats_of(const CheckpointTensor& tensor, const StoredTensor& stored,
                               std::size_t shard) const {
    const std::int64_t n = tensor.spec.shape.last();
    if (n > kMaxVector)
      refuse(stored, shard, "has {} elements, at most {} are supported", n, kMaxVector);
    std::vector<float> stored_order(static_cast<std::size_t>(n));
    find_format(tensor.spec.dtype)->decode(tensor.data, stored_order.data(), n);
    std::vector<float> values;
    for (std::int64_t i = 0; i < n; ++i)
      values.push_back(stored_order[static_cast<std::size_t>(stored_row(tensor, i))]);
    return values;
  }

  // A model without its output matrix would give wrong logits.
  void check_output() const {
    if (config_.tied || names_.contains("output.weight") || !has_whole_model()) return;
    fail<FormatError>(
        "{}: tensor 'lm_head.weight' is missing, and 'tie_word_embeddings' in config.json is not "
        "true",
        printable_path(path_));
  }
  // Checkpoints without the head, made for embeddings, have names without this prefix.
  bool has_whole_model() const {
    for (const Shard& shard : shards_) {
      for (const StoredTensor& t : shard.tensors) {
        if (t.name.starts_with("model.")) return true;
      }
    }
    return false;
  }

  // Checked before anything is allocated per token.
  void check_vocabulary(const JsonObject& json) const {
    for (const Mapped& mapped : mapped_) {
      if (mapped.tensor.name != "token_embd.weight") continue;
      const std::int64_t rows = mapped.tensor.spec.shape.rows().bound;
      if (static_cast<std::uint64_t>(rows) == config_.n_vocab) break;
      fail<FormatError>("{}: 'vocab_size' is {}, the table of embeddings has {} rows",
                        printable_path(json.file()), config_.n_vocab, rows);
    }
    if (config_.n_vocab > 0 && config_.n_vocab <= kMaxVocabulary) return;
    json.mismatch("vocab_size", fmt::format("1 to {}", kMaxVocabulary));
  }

  void read_text_files(const JsonObject& config) {
    const std::string file = join("tokenizer.json");
    const auto text = read_text(file, kMaxTokenizer);
    if (!text) {  // ids can still be fed
      builder_.add_string("tokenizer.ggml.model", "none");
      return;
    }
    const Json json = parse_json(*text, file);
    const auto facts = read_tokenizer(JsonObject(json, file), config_.n_vocab, builder_);
    read_special_tokens(path_, config, facts, builder_);
  }

  files::OpenedFiles finish() {
    std::ranges::sort(mapped_, [](const Mapped& a, const Mapped& b) {
      return std::tie(a.order, a.tensor.name) < std::tie(b.order, b.tensor.name);
    });
    files::OpenedFiles files = builder_.finish(path_);
    files.is_directory = true;
    for (Shard& shard : shards_) {
      files.paths.push_back(shard.path);
      files.file_bytes += std::ssize(shard.map.bytes());
      files.maps.push_back(std::move(shard.map));
    }
    for (const Mapped& mapped : mapped_) files.head.tensors.push_back(mapped.tensor);
    return files;
  }

  const std::string& path_;
  std::vector<Shard> shards_;
  std::string config_path_;
  Json config_json_;
  Config config_;
  files::CheckpointBuilder builder_;
  std::set<std::string> names_;  // of all tensors, as GGUF files have them
  std::vector<Mapped> mapped_;
};

}  // namespace

files::OpenedFiles open_directory(const std::string& path) {
  return Reader(path).read();
}

}  // namespace weft::safetensors
