#pragma once
// The flag that overrides keys of model files, named as in llama.cpp.

#include <vector>

#include "weft/files/key_override.h"

namespace weft::cli {

class App;

// --override-kv, which may be repeated.
void add_override_flag(App& app, std::vector<KeyOverride>& overrides);

}  // namespace weft::cli
