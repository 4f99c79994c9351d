#pragma once
// A model file opened for running: metadata checked, weights mapped, vocabulary read. Immutable;
// any number of sessions on any threads may share it.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/files/checkpoint.h"
#include "weft/graph/graph.h"

namespace weft {

class Tokenizer;
class Vocabulary;

struct ModelOptions {
  // Called with 0..1 while a long load goes on; may be empty. Return false to stop
  // (CancelledError).
  std::function<bool(double)> progress;
  // One of quantize_mixes(): weights that are F32, F16 or BF16 in the file are of the types that
  // the mix gives them, as if `weft quantize` had made the file. They are converted when a session
  // brings them into memory, which it then always does. Empty: as they are.
  std::string quantize;
};

// Facts that sessions and programs need, whatever the architecture.
struct ModelFacts {
  std::string architecture;       // "llama"
  std::string name;               // general.name, or empty
  std::int64_t n_layers = 0;      // L
  std::int64_t n_embd = 0;        // D
  std::int64_t n_vocab = 0;       // V
  std::int64_t context = 0;       // positions it was trained for, at least 1
  bool causal = true;             // tokens see only those before them
  std::int64_t n_params = 0;      // elements of all weights
  std::int64_t weight_bytes = 0;  // in the types they are used in
};

class Model {
 public:
  // Throws IoError, FormatError, UnsupportedError ("FILE: unsupported architecture 'gpt9'; nearest
  // known: gpt2"), ShapeError, ValueError for an unknown mix and UnsupportedError for one that
  // cannot be written here. After this every weight that the graph needs exists with the right
  // shape and a supported type, and no weight of the file is unknown to the architecture.
  static std::shared_ptr<const Model> load(const std::string& path,
                                           const ModelOptions& options = {});

  const Checkpoint& file() const;
  const ModelFacts& facts() const;
  const std::string& quantized_to() const;  // ModelOptions::quantize
  const Vocabulary& vocabulary() const;
  const Tokenizer& tokenizer()
      const;  // throws UnsupportedError "FILE has no tokenizer" for no_vocab files
  bool has_tokenizer() const;
  const std::vector<std::string>& warnings()
      const;  // of loading: ids out of range, unknown pre-tokenizer, ...

  struct Impl;
  const Impl& impl() const { return *impl_; }
  ~Model();

 private:
  explicit Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
