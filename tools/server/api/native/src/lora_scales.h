#pragma once
// Scales of LoRA adapters, as /completion and /lora-adapters read them.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/api/fields.h"
#include "weft/run/model.h"

namespace weft::api::native {

struct LoraScale {
  std::int64_t id = 0;
  double scale = 0;
};

const Fields<LoraScale>& lora_scale_fields();

// One scale for each adapter of the model, 0 for those that are not given. Throws ApiError 400 for
// an adapter that the model does not have; `param`: path of the list, empty if it is the body.
std::vector<float> lora_scales(const Model& model, std::span<const LoraScale> given,
                               const std::string& param);

}  // namespace weft::api::native
