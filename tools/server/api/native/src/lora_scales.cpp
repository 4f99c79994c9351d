#include "lora_scales.h"

#include <fmt/format.h>

#include "weft/adapters/adapters.h"
#include "weft/api/errors.h"
#include "weft/api/forms.h"

namespace weft::api::native {

const Fields<LoraScale>& lora_scale_fields() {
  static const auto table = Fields<LoraScale>()
                                .required("id", &LoraScale::id, whole(0), "Id of the adapter.")
                                .required("scale", &LoraScale::scale, number(),
                                          "Scale of the adapter; 0 switches it off.");
  return table;
}

std::vector<float> lora_scales(const Model& model, std::span<const LoraScale> given,
                               const std::string& param) {
  std::vector<float> scales(model.adapters().loras().size(), 0.0F);
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i].id >= std::ssize(scales))
      throw bad_request(fmt::format("{}[{}].id", param, i),
                        fmt::format("no adapter {}: the model has {}", given[i].id, scales.size()));
    scales[static_cast<std::size_t>(given[i].id)] = static_cast<float>(given[i].scale);
  }
  return scales;
}

}  // namespace weft::api::native
