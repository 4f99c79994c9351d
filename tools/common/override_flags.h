#pragma once
// Flags that change how the keys of models are read. --override-kv is named as in llama.cpp.

#include <vector>

#include "weft/files/key_override.h"

namespace weft::cli {

class App;

// --override-kv, which may be repeated.
void add_override_flag(App& app, std::vector<KeyOverride>& overrides);
// --allow-unknown-settings: see OpenOptions.
void add_unknown_settings_flag(App& app, bool& allow);

}  // namespace weft::cli
