#pragma once
// Graphs whose output may have any shape.

#include "weft/arch/builder.h"

namespace weft::arch {

// As build_graph(), for who only wants to know which weights the architecture asks for: a made
// model is a file like any other, and it is sessions that refuse an output of a wrong shape.
Graph build_unchecked(const ModelSource& source, const Architecture& architecture, const Hparams& c,
                      const GraphOptions& options);

}  // namespace weft::arch
