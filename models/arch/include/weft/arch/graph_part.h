#pragma once
// The parts of a model that have graphs, and plans, of their own.

#include <cstdint>

namespace weft::arch {

enum class GraphPart : std::uint8_t {
  steps,    // what computes tokens
  encoder,  // reads a text, to which tokens then attend. REQUIRES: the architecture has one
  draft,    // the first draft layer. REQUIRES: has_draft_layers()
};

}  // namespace weft::arch
