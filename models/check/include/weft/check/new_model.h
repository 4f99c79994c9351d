#pragma once
// Checks new builder code. Makes a tiny model of the architecture, with random weights of the
// shapes that the builder declares, and applies every check to it.

#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "weft/arch/made_source.h"
#include "weft/check/selftest.h"

namespace weft {

struct NewModelOptions {
  // Keys of the file that add to or replace the usual ones: {"granite.logit_scale", 4.0}.
  using Value = arch::MadeSource::Value;
  std::vector<std::pair<std::string, Value>> keys;
  // The plain graph as Graphviz text is compared with this file, which is created if it does not
  // exist. Empty: no snapshot.
  std::string snapshot;
  std::function<void(const std::string&)> progress;  // as in SelftestOptions
  const std::atomic<bool>* cancel = nullptr;         // as in SessionOptions
};

// The architecture must be built in or registered. Checks: the graph and its shapes, with and
// without optional tensors; every weight is used; passes do not change results; a GGUF file that is
// written, read and written again; every node on every instruction set, with and without passes,
// with weights in F32, Q8_0 and Q4_K and every type of cache; the checks of selftest(); plans and
// memory; the snapshot. Throws UnsupportedError for an unknown name, IoError if files cannot be
// written.
SelfReport check_new_model(const std::string& architecture, const NewModelOptions& options = {});

}  // namespace weft
