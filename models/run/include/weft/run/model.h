#pragma once
// A model file, opened for running: metadata checked, weights mapped, vocabulary read. Immutable:
// any number of sessions on any threads may share it.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/adapters/adapter_files.h"
#include "weft/files/checkpoint.h"
#include "weft/graph/graph.h"
#include "weft/scheduler/link.h"
#include "weft/scheduler/shard.h"

namespace weft {

class Adapters;
class Identity;
class Tokenizer;
class Vocabulary;

struct ModelOptions {
  // Called with 0..1 during a long load; may be empty. Return false to stop (CancelledError).
  std::function<bool(double)> progress;
  // One of quantize_mixes(): weights that are F32, F16 or BF16 in the file are used in the types of
  // this mix, as if `weft quantize` had written the file. They are converted when a session loads
  // them; its weights are then always resident. Empty: as they are.
  std::string quantize;
  // Values of keys instead of the file's.
  std::vector<KeyOverride> overrides;
  bool allow_unknown_settings = false;  // see OpenOptions
  // LoRAs and control vectors that the graphs of the model apply. Sessions choose the scale of each
  // LoRA for each sequence (Session::set_lora_scales); control vectors apply to all of them.
  AdapterFiles adapters;
  // A file with a draft layer or a head for the model (weft/run/draft_file.h), which is used as one
  // of its own would be: a layer shares the embeddings and the output matrix of the model. The mix
  // and the keys above do not concern it. Empty: none.
  std::string draft_file;
  // The model is divided among ranks (weft/run/ranks.h), and this one is rank 0. UnsupportedError
  // for models with an encoder.
  Sharding sharding;
  // Only the part of this rank, to be planned, drawn and timed: there are no others, and what its
  // sessions compute has no meaning. Below 0: not so.
  int lone_rank = -1;
  // Messages between ranks take as long as on such a link, to try what a network would do.
  std::optional<LinkSpeed> slow_link;
  double rank_timeout = 600;  // seconds that a rank may take until it sends its next message
  // For sessions of ranks other than 0, which rank 0 opens: the memory and the threads of each
  // process, like SessionOptions::mem_budget and workers. Ranks in one process share them.
  std::int64_t rank_budget = 0;
  int rank_workers = 0;
};

// Facts about a model that do not depend on its architecture.
struct ModelFacts {
  std::string architecture;   // "llama"
  std::string name;           // general.name, or empty
  std::int64_t n_layers = 0;  // L
  std::int64_t n_embd = 0;    // D
  std::int64_t n_vocab = 0;   // V
  std::int64_t context = 0;   // positions it was trained for, at least 1
  bool causal = true;         // tokens see only those before them
  bool has_output = true;     // an output matrix, or one that is tied to the embeddings
  // The model has an encoder, which reads the prompt, and a decoder, whose texts begin with the
  // token `start`.
  bool encodes = false;
  std::int32_t start = -1;  // if it encodes
  bool recurrent = false;   // it has recurrent states, beside which it may have attention
  // It has a layer that drafts what follows (SessionOptions::draft_layer).
  bool drafts = false;
  bool draft_head = false;        // if it drafts: the layer is an EAGLE-3 head of another file
  std::int64_t draft_width = 0;   // if it drafts: elements of the features that the layer reads
  bool diffuses = false;          // a diffusion language model, which is never causal
  std::int64_t token_types = 1;   // number of types of a step's tokens (StepToken::type)
  std::int64_t n_params = 0;      // elements of all weights
  std::int64_t weight_bytes = 0;  // in the types in which they are used

  // Whether it can continue a text; otherwise it only gives embeddings and scores.
  bool gives_text() const { return causal && has_output; }
  // "Weft Stories (llama)", or "llama".
  std::string title() const {
    return name.empty() ? architecture : name + " (" + architecture + ")";
  }
};

struct ModelAccess;

class Model {
 public:
  // Throws IoError, FormatError, UnsupportedError ("FILE: unsupported architecture 'gpt9'; nearest
  // known: gpt2"), ShapeError; ValueError for an unknown mix and UnsupportedError for a mix that
  // cannot be written; like Adapters::open. Of a draft file, UnsupportedError "draft.gguf: a draft
  // layer for architecture 'glm4moe', but model.gguf has 'llama'", and if it is none; ShapeError if
  // it is for a model of other sizes; FormatError for a second draft layer. Afterwards every weight
  // that the graph needs is known to exist with the right shape and a supported type, and the
  // architecture knows every weight of the file.
  static std::shared_ptr<const Model> load(const std::string& path,
                                           const ModelOptions& options = {});

  // The same for a file that is open. `options.allow_unknown_settings` has no effect.
  static std::shared_ptr<const Model> load(const Checkpoint& file,
                                           const ModelOptions& options = {});

  const Checkpoint& file() const;  // without adapters
  // Its tensors, and those that its graphs have for adapters.
  const Checkpoint& weights() const;
  // Which model it is, with its adapters (weft/files/identity.h). Thread-safe.
  Identity& identity() const;
  const Adapters& adapters() const;
  const ModelFacts& facts() const;
  // The tokens that the logits of drafts are of, if the draft layer has a vocabulary of its own.
  // Empty: 0 .. V - 1.
  std::span<const std::int32_t> draft_ids() const;
  const Sharding& sharding() const;
  const std::string& quantized_to() const;  // ModelOptions::quantize
  const Vocabulary& vocabulary() const;
  // Throws UnsupportedError "FILE has no tokenizer" unless has_tokenizer().
  const Tokenizer& tokenizer() const;
  bool has_tokenizer() const;
  // From loading: ids out of range, an unknown pre-tokenizer, ...
  const std::vector<std::string>& warnings() const;

  // Throw IoError if a file of the weights has lost bytes while it was mapped, or a weight cache
  // that sessions use; check_files() also if the system says that a file was written. Loading the
  // model again is the way out.
  void check_mapped() const;
  void check_files() const;

  struct Impl;
  ~Model();

 private:
  friend struct ModelAccess;
  explicit Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
