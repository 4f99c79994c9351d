#include "safetensors/directory.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/weft_keys.h"

#include "checkpoint_builder.h"
#include "safetensors/config/config.h"
#include "safetensors/json.h"
#include "safetensors/modules/dense_module.h"
#include "safetensors/modules/logit_score.h"
#include "safetensors/modules/modules.h"
#include "safetensors/modules/pooling.h"
#include "safetensors/optional_file.h"
#include "safetensors/shards.h"
#include "safetensors/tensors.h"
#include "safetensors/tokenizer/chat_templates.h"
#include "safetensors/tokenizer/sentencepiece_model.h"
#include "safetensors/tokenizer/special_tokens.h"
#include "safetensors/tokenizer/tokenizer_json.h"

namespace weft::safetensors {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxConfig = std::size_t{16} << 20;
constexpr std::size_t kMaxTokenizer = std::size_t{64} << 20;
constexpr std::uint64_t kMaxVocabulary = std::uint64_t{1} << 22;

// The last component of the directory's absolute path. For a snapshot in the cache of Hugging Face,
// models--ORGANIZATION--NAME/snapshots/HASH, the name of the model.
std::string model_name(const std::string& path) {
  std::error_code error;
  const fs::path full = fs::canonical(path, error);
  if (error) return {};
  const fs::path snapshots = full.parent_path();
  const std::string cached = snapshots.parent_path().filename().string();
  if (snapshots.filename() == "snapshots" && cached.starts_with("models--"))
    return printable(cached.substr(cached.rfind("--") + 2));
  return printable(full.filename().string());
}

// Builds the parts of the model from the files.
class Reader {
 public:
  Reader(const std::string& path, const OpenOptions& options)
      : root_(path),
        options_(options),
        modules_(read_modules(path)),
        path_(modules_.transformer),
        shards_(open_shards(path_)),
        config_path_(join("config.json")) {
    const auto text = read_text(config_path_, kMaxConfig);
    if (!text) fail<IoError>("{}: 'config.json' is missing", printable_path(path_));
    config_json_ = parse_json(*text, config_path_);
  }

  files::OpenedFiles read() {
    const JsonObject json(config_json_, config_path_);
    config_ = read_config(json, model_name(root_), builder_, options_);
    tensors_.add_all();
    check_output();
    add_labels(json);
    check_vocabulary(json);
    for (const auto& [name, values] : config_.rope_factors)
      if (!values.empty()) builder_.add_floats(name, values);  // none for heads of one element
    add_modules();
    if (!modules_.scoring.empty()) add_scoring();
    read_text_files(json);
    return finish();
  }

 private:
  std::string join(const char* name) const { return (fs::path(path_) / name).string(); }

  // A model without its output matrix would give wrong logits. Checkpoints for embeddings, whose
  // names have no prefix or whose class has no head, and those with a classifier do without.
  void check_output() {
    if (config_.tied || tensors_.has("output.weight")) return;
    const bool embeds = config_.without_head || !modules_.pooling.empty() || !has_prefixes();
    if (!embeds && !tensors_.has("cls.output.weight")) {
      fail<FormatError>(
          "{}: tensor 'lm_head.weight' is missing, and 'tie_word_embeddings' in config.json is not "
          "true",
          printable_path(path_));
    }
    builder_.add_bool(kWithoutOutputKey, true);
  }
  bool has_prefixes() const {
    const auto has_prefix = [this](const StoredTensor& t) {
      return std::ranges::any_of(
          config_.architecture->hugging_face.prefixes,
          [&](std::string_view prefix) { return !prefix.empty() && t.name.starts_with(prefix); });
    };
    return std::ranges::any_of(
        shards_, [&](const Shard& s) { return std::ranges::any_of(s.tensors, has_prefix); });
  }

  // The names of a classifier's outputs; transformers leaves the usual ones out of config.json.
  void add_labels(const JsonObject& json) {
    const auto output = std::ranges::find(
        tensors_.matrices(), std::string_view("cls.output.weight"), &CheckpointTensor::name);
    if (!config_.classifies || output == tensors_.matrices().end()) return;
    const auto n = static_cast<std::size_t>(output->n_rows());
    std::vector<std::string> labels = config_.labels;
    for (std::size_t i = 0; config_.labels.empty() && i < n; ++i)
      labels.push_back(fmt::format("LABEL_{}", i));
    if (labels.size() != n)
      json.mismatch("id2label", fmt::format("the labels of the {} classes", n));
    builder_.add_strings(fmt::format("{}.classifier.output_labels", config_.architecture->name),
                         labels);
  }

  void add_modules() {
    const std::string_view arch = config_.architecture->name;
    const bool pooled = read_pooling(modules_.pooling, arch, builder_);
    if (!pooled && !modules_.dense.empty()) add_pooling(Pooling::none, arch, builder_);
    add_activations(modules_, builder_);
    const bool embeds = pooled || !modules_.dense.empty();
    if (modules_.listed && embeds && !modules_.normalizes) builder_.add_bool(kNormalizeKey, false);
    if (modules_.text.max_tokens) builder_.add_u32(kMaxTokensKey, *modules_.text.max_tokens);
  }

  void add_scoring() {
    add_classifier(read_logit_score(modules_.scoring), modules_.scoring, config_, tensors_,
                   builder_);
  }

  // Checked before anything is allocated per token.
  void check_vocabulary(const JsonObject& json) const {
    for (const CheckpointTensor& tensor : tensors_.matrices()) {
      if (tensor.name != "token_embd.weight") continue;
      const std::int64_t rows = tensor.spec.shape.rows().bound;
      if (static_cast<std::uint64_t>(rows) == config_.n_vocab) break;
      fail<FormatError>("{}: 'vocab_size' is {}, the table of embeddings has {} rows",
                        printable_path(json.file()), config_.n_vocab, rows);
    }
    if (config_.n_vocab > 0 && config_.n_vocab <= kMaxVocabulary) return;
    json.mismatch("vocab_size", fmt::format("1 to {}", kMaxVocabulary));
  }

  void read_text_files(const JsonObject& config) {
    const OptionalFile settings(path_, "tokenizer_config.json");
    Json own = settings.object().json();
    const auto facts = read_tokenizer_file(own, settings.path());
    if (!facts) {  // ids can still be fed
      builder_.add_string("tokenizer.ggml.model", "none");
      return;
    }
    const JsonObject named(own, settings.path());
    read_special_tokens(path_, config, named, *facts, builder_);
    read_chat_templates(path_, named, builder_);
  }

  // The first file of a tokenizer that there is; nothing if there is none. `settings`:
  // tokenizer_config.json, which the reader may complete.
  std::optional<TokenizerFacts> read_tokenizer_file(Json& settings,
                                                    const std::string& settings_file) {
    const std::string file = join("tokenizer.json");
    if (const auto text = read_text(file, kMaxTokenizer)) {
      Json json = parse_json(*text, file);
      apply_lowercase(modules_.text, json, settings);
      if (json.is_object()) apply_settings(JsonObject(settings, settings_file), json);
      return read_tokenizer(JsonObject(json, file), config_.n_vocab, builder_);
    }
    for (const char* name : {"tokenizer.model", "spiece.model"}) {
      const std::string model = join(name);
      const auto bytes = read_text(model, kMaxTokenizer);
      if (!bytes) continue;
      add_older_tokens(OptionalFile(path_, "added_tokens.json").object(),
                       OptionalFile(path_, "special_tokens_map.json").object(), settings);
      return read_sentencepiece(*bytes, model, settings, settings_file, config_.n_vocab, builder_);
    }
    return std::nullopt;
  }

  files::OpenedFiles finish() {
    std::vector<CheckpointTensor> dense;  // follow pooling
    for (const DenseModule& module : modules_.dense) {
      CheckpointTensor weight = add_dense(module, builder_);
      weight.part = static_cast<std::int32_t>(shards_.size() + dense.size() + 1);
      dense.push_back(weight);
    }
    files::OpenedFiles files = builder_.finish(root_);
    files.is_directory = true;
    for (Shard& shard : shards_) add_part(std::move(shard), files);
    for (DenseModule& module : modules_.dense) add_part(std::move(module.file), files);
    for (const auto& tensors : {tensors_.matrices(), dense})
      files.head.tensors.insert(files.head.tensors.end(), tensors.begin(), tensors.end());
    files.runs = tensors_.runs();
    return files;
  }

  static void add_part(Shard shard, files::OpenedFiles& files) {
    files.paths.push_back(shard.path);
    files.file_bytes += std::ssize(shard.map.bytes());
    files.maps.push_back(std::move(shard.map));
  }

  const std::string& root_;
  OpenOptions options_;
  Modules modules_;
  const std::string& path_;  // the folder of the model's own files
  std::vector<Shard> shards_;
  std::string config_path_;
  Json config_json_;
  Config config_;
  files::CheckpointBuilder builder_;
  Tensors tensors_{config_, shards_, builder_};
};

}  // namespace

files::OpenedFiles open_directory(const std::string& path, const OpenOptions& options) {
  return Reader(path, options).read();
}

}  // namespace weft::safetensors
