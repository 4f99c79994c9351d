#pragma once
// The parts of a model that sessions need beyond its public interface.

#include <memory>
#include <mutex>
#include <optional>

#include "weft/adapters/adapters.h"
#include "weft/arch/builder.h"
#include "weft/base/fork_mutex.h"
#include "weft/files/identity.h"
#include "weft/run/model.h"
#include "weft/tokenize/tokenizer.h"

#include "model/checkpoint_source.h"
#include "model/draft_file.h"
#include "model/rank_context.h"
#include "weights/weight_loader.h"

namespace weft {

namespace run {
class PackedFile;
}

struct Model::Impl {
  explicit Impl(Checkpoint file) : source(std::move(file)), weights(source.checkpoint()) {}

  run::CheckpointSource source;
  Adapters adapters;
  Checkpoint weights;                  // the file with the draft file and the adapters
  std::unique_ptr<Identity> identity;  // identifies `weights`
  const arch::Architecture* architecture = nullptr;
  arch::Config hparams;
  std::optional<run::DraftFile> draft_file;  // none: the draft layer, if any, is the file's
  ModelFacts facts;
  std::string quantized_to;
  std::shared_ptr<const Vocabulary> vocabulary;
  std::shared_ptr<const Tokenizer> tokenizer;  // null if the file has none that we know
  std::string no_tokenizer;                    // why
  std::vector<std::string> warnings;
  run::RankContext ranks;

  // Everything but the identity.
  static std::unique_ptr<Impl> load(const Checkpoint& file, const ModelOptions& options);
  static std::shared_ptr<const Model> wrap(std::unique_ptr<Impl> impl);
  // Makes it the model of one rank.
  void take_part(const Sharding& sharding, int rank);
  // The parts of the weights that a rank needs of this model, which is whole.
  struct RankParts {
    std::vector<TensorPart> parts;
    std::vector<UndividedOp> undivided;
  };
  RankParts parts_of_rank(const Sharding& sharding, int rank) const;

  // A graph as it is built from the files. Throws like arch::build_model_graph().
  arch::ModelGraph graph(arch::GraphOptions options) const;
  // The same with adapters.
  arch::ModelGraph plain_graph(const arch::GraphOptions& options) const;
  // The part of that which this rank computes.
  arch::ModelGraph rank_graph(const arch::GraphOptions& options) const;

  // A region that has the weights of this layout: that of another session, or a new one. Waits
  // while another thread fills a region.
  std::shared_ptr<const run::ResidentWeights> resident_weights(
      const run::WeightLayout& layout, const run::LoadOptions& options) const;
  // PackedFile::open(). Waits while another thread makes a packed file or fills a region.
  MappedFile open_packed(const run::PackedFile& file, const run::LoadOptions& options) const;
  // The bytes of the layout's region if a session holds one that has its weights now, else 0.
  std::int64_t region_bytes(const run::WeightLayout& layout) const;
  // Bytes of all regions that sessions hold now.
  std::int64_t resident_bytes() const;
  // Throws IoError if one of them is mapped from a file that has lost bytes.
  void check_regions() const;

 private:
  std::shared_ptr<const run::ResidentWeights> find_region(const run::WeightLayout& layout) const;

  mutable ForkMutex loading_mutex_{ForkMutex::Held::lasting};  // taken first
  mutable ForkMutex regions_mutex_;
  mutable std::vector<std::weak_ptr<const run::ResidentWeights>> regions_;
};

// For the rest of this layer.
struct ModelAccess {
  static const Model::Impl& impl(const Model& model) { return *model.impl_; }
};

namespace run {

inline const Model::Impl& impl_of(const Model& model) {
  return ModelAccess::impl(model);
}

// Tells ModelOptions::progress. Throws CancelledError if that returns false.
void report_progress(const ModelOptions& options, double share);

}  // namespace run
}  // namespace weft
