#pragma once
// Flags for LoRAs and control vectors, named as in llama.cpp.

#include "weft/adapters/adapter_files.h"

#include "common/app.h"

namespace weft::cli {

// --lora and --lora-scaled, in the order in which they are given.
void add_lora_flags(App& app, AdapterFiles& files);
// The same, and --control-vector, --control-vector-scaled, --control-vector-layer-range.
void add_adapter_flags(App& app, AdapterFiles& files);

}  // namespace weft::cli
