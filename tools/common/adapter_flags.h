#pragma once
// Flags for LoRAs and control vectors, named as in llama.cpp.

#include "weft/adapters/adapter_files.h"

namespace CLI {
class App;
}  // namespace CLI

namespace weft::cli {

// --lora and --lora-scaled, in the order in which they are given.
void add_lora_flags(CLI::App& app, AdapterFiles& files);
// The same, and --control-vector, --control-vector-scaled, --control-vector-layer-range.
void add_adapter_flags(CLI::App& app, AdapterFiles& files);

}  // namespace weft::cli
