#pragma once
// Writes a model whose weights contain LoRAs: w' = w + sum_i s_i u_i v_i (weft/adapters/lora.h).

#include <functional>
#include <span>
#include <string>

#include "weft/adapters/adapter_files.h"
#include "weft/files/checkpoint.h"

namespace weft {

// Writes `model` with the LoRAs merged, a row at a time; the file appears under its name when it is
// complete. Every tensor keeps its type; adapted ones are rounded to it again. `progress` gets 0..1
// and returns false to stop (CancelledError); may be empty. Throws like Lora::open(); ValueError
// for a scale that is not finite and for an output that is a file of the model or a LoRA;
// UnsupportedError if the type of an adapted tensor cannot be written; FormatError if a merged
// weight is not finite in its type; IoError.
void write_merged(const Checkpoint& model, std::span<const LoraFile> loras, const std::string& path,
                  const std::function<bool(double)>& progress = {});

}  // namespace weft
