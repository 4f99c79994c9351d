#pragma once
// Is new builder code right? A tiny model of the architecture is made up on the spot, with random
// weights of the shapes that the builder asks for, and put through every check there is.

#include <string>
#include <utility>
#include <vector>

#include "weft/arch/made_source.h"
#include "weft/check/selftest.h"

namespace weft {

struct NewModelOptions {
  // Keys of the file besides the usual ones, or in their place: {"granite.logit_scale", 4.0}.
  using Value = MadeSource::Value;
  std::vector<std::pair<std::string, Value>> keys;
  // The plain graph as text for Graphviz is compared with this file, which is written where there
  // is none. Empty: no snapshot.
  std::string snapshot;
  std::function<void(const std::string&)> progress;  // as in SelftestOptions
};

// The architecture must be built in or registered. The checks: the graph and its shapes, with and
// without the tensors that files may lack; every weight is used; passes make the same; a GGUF file
// written, read and written again; every node on every instruction set, with and without passes,
// weights in F32, Q8_0 and Q4_K, every type of cache; what selftest() does; plans and memory; the
// snapshot. Throws UnsupportedError for an unknown name, IoError where no file can be written.
SelfReport check_new_model(const std::string& architecture, const NewModelOptions& options = {});

}  // namespace weft
