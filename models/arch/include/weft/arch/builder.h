#pragma once
// The interface for builder code. A model is one file in models/arch/src/ that describes the graph,
// and one line in architectures.cpp, or one file of another project that registers it; see
// docs/adding_a_model.md. Builder code uses only graph and ops: it knows nothing of backends, cache
// layouts, fusion or threads.
//
// Dimension letters: T tokens in the step, O rows that need logits, S cells of the cache, D model
// width, H query heads, G kv heads, E width of a head, F ffn width, V vocabulary, L layers, R
// rotated elements of a head. Weights are [out, in].

#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/arch/graph_part.h"
#include "weft/arch/hparams.h"
#include "weft/arch/hugging_face.h"
#include "weft/arch/memory.h"
#include "weft/graph/graph.h"

namespace weft::arch {

// Gives access to the weights of a file; each weight is declared where it is used. Copies are cheap
// and share one record of the weights that were used.
class Weights {
 public:
  // REQUIRES: both outlive every copy.
  Weights(Graph& graph, const ModelSource& source);

  // The weight of this name. block() adds a prefix: block(3)("attn_q.weight", ..) is
  // "blk.3.attn_q.weight". The same name gives the same tensor. Throws FormatError "FILE: tensor
  // 'NAME' is missing (models/arch/src/pages/llama.cpp:41)" and ShapeError "FILE: tensor 'NAME'
  // must be [64, 64], got [64, 32] (...)".
  Tensor operator()(std::string_view name, const Shape& shape,
                    SourceLine where = std::source_location::current()) const;
  // The same for a weight whose dimensions of 1 vary from file to file: [1, C, 1, K] for [C, K], or
  // [N] for [N, 1].
  Tensor squeezed(std::string_view name, const Shape& shape,
                  SourceLine where = std::source_location::current()) const;
  // The same for matrices [X, N, K] that some files hold as one, [X N, K].
  Tensor stacked(std::string_view name, const Shape& shape,
                 SourceLine where = std::source_location::current()) const;
  // As operator(), but no tensor if the file does not have it.
  Tensor optional(std::string_view name, const Shape& shape,
                  SourceLine where = std::source_location::current()) const;
  bool has(std::string_view name) const;
  const Shape* shape_of(std::string_view name) const;  // null if the file has no such tensor
  // Declares a tensor that files may have and the graph does not use. Otherwise it is an error.
  void ignore(std::string_view name) const;
  void ignore_block(std::int64_t i) const;        // all tensors of layer i
  void ignore_part(std::string_view name) const;  // all tensors "NAME.*"

  // The weights of layer i. While the result (or a copy) exists, paths of new nodes start with
  // "blk.<i>.". One block at a time.
  Weights block(std::int64_t i) const;
  // The weights of a part of a model, likewise: part("enc").block(3) has "enc.blk.3.*".
  Weights part(std::string_view name) const;

 private:
  friend class GraphBuilder;
  struct Used;
  Weights(const Weights& parent, const std::string& prefix);
  using Fits = bool (*)(const Shape& stored, const Shape& wanted);
  Tensor declare(std::string_view name, const Shape& shape, Fits fits, SourceLine where) const;

  Graph* graph_;
  const ModelSource* source_;
  std::string prefix_;
  std::shared_ptr<Used> used_;
  std::shared_ptr<Graph::Scope> scope_;
};

// Features that a head reads which is not of the model (weft/arch/eagle3.h): draft.fc [h_a | h_b |
// ..] of the inputs [T, D] of some layers.
struct FeatureLayers {
  std::vector<std::int64_t> layers;  // a, b, ..
  std::int64_t D = 0;
  std::int64_t out = 0;  // features are [T, out]
};

// The inputs of a step.
struct Inputs {
  Tensor tokens;             // [T] i32, ids
  Tensor pos;                // [T] i32, positions within the sequence
  Tensor out_rows;           // [O] i32, rows of the step that need logits
  Memory memory;             // the state of sequences from step to step
  std::int64_t context = 0;  // max positions of a sequence of this session
  bool embeddings = false;   // head() returns the normalized rows instead of their logits
  Tensor features;           // [T, D] f32, what a draft layer reads; none in other graphs
  // If not null, decode() and decode_draft() set it to the features [T, D] f32 of all tokens of the
  // step, which a draft layer reads next.
  Tensor* next_features = nullptr;
  const FeatureLayers* feature_layers = nullptr;  // what decode() joins; null: DraftFeatures
};

// The config of a file: Hparams, or a struct that an architecture derives from it.
using Config = std::shared_ptr<const Hparams>;

// An entry of the list of architectures. architecture() and decoder() (weft/arch/decoder.h) make
// one from typed functions.
struct Architecture {
  std::string_view name;  // general.architecture
  // Builds the graph and returns the result of head(): the logits, [O, V] f32, or the embeddings,
  // [O, D] f32. `c` is the result of configure().
  Tensor (*build)(const Weights& w, const Hparams& c, const Inputs& in) = nullptr;
  // Reads the keys and throws for what cannot be built. Null: read_hparams().
  Config (*configure)(const Keys& keys) = nullptr;
  HuggingFace hugging_face = {};
  // For models of an encoder and a decoder, else null: builds the graph of the encoder, which reads
  // the text of a sequence and keeps what the decoder attends to (Memory::keep_encoded). Returns
  // the encoder's normalized rows, [O, D] f32. `build` then builds the decoder.
  Tensor (*encode)(const Weights& w, const Hparams& c, const Inputs& in) = nullptr;
  // For architectures whose files may have draft layers, else null: builds the graph of the first
  // one, as decode_draft() (weft/arch/decoder.h) does, and returns its logits, [O, V] f32. `build`
  // then also sets Inputs::next_features.
  Tensor (*draft)(const Weights& w, const Hparams& c, const Inputs& in) = nullptr;
  // A diffusion language model: it fills in the masked tokens of a text, all of which it sees.
  bool diffuses = false;
};

constexpr Architecture diffusing(Architecture architecture) {
  architecture.diffuses = true;
  return architecture;
}

// An architecture whose draft layers, if files have any, decode_draft() cannot build.
constexpr Architecture without_draft(Architecture architecture) {
  architecture.draft = nullptr;
  return architecture;
}

// An architecture with its own config struct:
//   Config read(const Keys&); Tensor build(const Weights&, const Config&, const Inputs&)
template <auto build, auto read>
constexpr Architecture architecture(std::string_view name, const HuggingFace& hugging_face = {}) {
  using Own = std::remove_cvref_t<decltype(read(std::declval<const Keys&>()))>;
  static_assert(std::is_base_of_v<Hparams, Own>);
  return {.name = name,
          .build = [](const Weights& w, const Hparams& c,
                      const Inputs& in) { return build(w, config_cast<Own>(c), in); },
          .configure = [](const Keys& keys) -> Config {
            const auto c = std::make_shared<Own>(read(keys));
            c->type.set(typeid(Own));
            return c;
          },
          .hugging_face = hugging_face};
}

// All architectures: first the built-in ones, then those that were registered.
std::vector<const Architecture*> architectures();

// Registers an architecture of another project, so that models whose general.architecture is `name`
// can be loaded. Its strings and tables must outlive all use of it. May be called from any thread
// at any time. Throws ValueError if the name is taken or empty, or if build is null.
void register_architecture(const Architecture& architecture);

// The architecture of a file. Throws FormatError if the file names none and UnsupportedError
// "FILE: unsupported architecture 'qwen4'; nearest known: qwen2, qwen3", and for the image encoder
// of a model, an adapter or an importance matrix.
const Architecture& find_architecture(const ModelSource& source);

// The checked hyper-parameters of a file.
Config configure(const ModelSource& source, const Architecture& architecture);

// Whether a draft graph of the file can be built: it has layers for multi-token prediction, with
// their tensors, its tokens see only those before them, and the architecture knows such layers.
// Files may count such layers and not have them.
bool has_draft_layers(const ModelSource& source, const Architecture& architecture,
                      const Hparams& c);

struct GraphOptions {
  std::int64_t tokens = 1;       // bound of T
  std::int64_t logits_rows = 1;  // bound of O
  std::int64_t sequences = 1;
  std::int64_t context = 1;      // positions per sequence
  std::int64_t cells = 0;        // in the pool, for all sequences; 0: enough for all
  std::int64_t step_tokens = 0;  // in the session's widest step; 0: tokens
  std::int64_t rewind = 0;       // MemorySizes::rewind
  std::int64_t kept = 0, kept_tokens = 0, lasting_every = 256;  // likewise
  DType cache_k = f16, cache_v = f16;
  bool embeddings = false;  // not of a draft layer
  GraphPart part = GraphPart::steps;
  bool features = false;  // an output of steps, too. REQUIRES: the architecture has a draft graph,
                          // or feature_layers
  // Not null: drafts are those of a head, whose tensors the source has as "draft.*". Throws
  // UnsupportedError for steps with features if the architecture does not use decode().
  const FeatureLayers* feature_layers = nullptr;
};

// The graph of one width class. Inputs: "tokens", "pos" [T] i32, "out_rows" [O] i32, those of its
// memory parts, and "types" [T] i32 if the model has a table of token types. Output: "logits" [O,
// V], or "embeddings" [O, D] of an encoder or if they are requested; then, if requested, "features"
// [T, D] f32, what a draft layer reads. They do not change the logits. States are named by Memory.
// Throws what Weights throws, ShapeError if the builder gives another output (such as a row for
// each token), and FormatError naming the tensors of the file that the architecture does not know.
// Embeddings may leave out what only logits need.
//
// A draft graph has the same inputs and a memory of its own, and reads "features" [T, D] f32: a row
// has the token of position p + 1, the features of the token at p, and p in "pos". Its outputs are
// "logits" [O, V], of the token at p + 2, and "features" [T, D], with which the layer can draft the
// next token. Of several draft layers only the first is used, for every token of a draft, and the
// tensors of the others are not read. FormatError names tensors of blk.L that are not known; others
// are of the graph of steps.
struct ModelGraph {
  Graph graph;
  std::vector<MemoryPart> memory;  // the same for all width classes of a session
};
ModelGraph build_model_graph(const ModelSource& source, const Architecture& architecture,
                             const Hparams& c, const GraphOptions& options);
// Only the graph.
Graph build_graph(const ModelSource& source, const Architecture& architecture, const Hparams& c,
                  const GraphOptions& options);

}  // namespace weft::arch
