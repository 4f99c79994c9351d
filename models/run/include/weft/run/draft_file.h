#pragma once
// Files of drafts: GGUF files that are not a model, but a part that drafts for one.
//
// A draft layer: the layer for multi-token prediction of a model whose own file lacks it. It has
// the model's general.architecture and keys, of which block_count counts the layer and
// nextn_predict_layers is at least 1, and the tensors blk.L.*, where L is the number of the model's
// other layers. It may also have token_embd, output and output_norm, which are those of the model.
//
// A head: a layer with general.architecture "eagle3" (weft/arch/eagle3.h).

#include <cstdint>

#include "weft/files/checkpoint.h"

namespace weft {

enum class DraftFileKind : std::uint8_t {
  model,  // none of the others: a model, if it is anything
  layer,  // a draft layer, for ModelOptions::draft_file
  head,   // an EAGLE-3 head, likewise
};
DraftFileKind draft_file_kind(const Checkpoint& file);

}  // namespace weft
