#pragma once
// A draft layer in a file of its own (ModelOptions::draft_file).

#include <cstdint>
#include <vector>

#include "weft/arch/builder.h"

#include "model/checkpoint_source.h"

namespace weft::run {

struct DraftFile {
  CheckpointSource source;  // the model's tensors and those of the layer
  arch::Config hparams;     // as the file's keys say
  const arch::Architecture* architecture = nullptr;
  const arch::FeatureLayers* feature_layers = nullptr;  // that a head reads; null: no head
  std::vector<std::int32_t> ids = {};                   // the tokens of d2t
};

// The layer or the head of `file` as part of a model, whose keys gave `hparams`. Throws like
// Model::load() with a draft file, but does not look at the tensors of the layer.
DraftFile join_draft_file(const Checkpoint& file, const CheckpointSource& model,
                          const arch::Architecture& architecture, const arch::Hparams& hparams);

}  // namespace weft::run
