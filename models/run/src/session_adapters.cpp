// The scales of LoRAs by sequence.
#include <algorithm>
#include <cmath>

#include "weft/base/error.h"
#include "weft/base/printable.h"

#include "session_impl.h"

namespace weft {

using namespace run;

std::vector<float> Session::Impl::default_scales() const {
  std::vector<float> scales;
  for (const LoraFile& lora : model->adapters().loras()) scales.push_back(lora.scale);
  return scales;
}

void Session::Impl::write_scales(Runner& r, std::size_t token, std::int32_t sequence) {
  const std::vector<float>& scales = lora_scales[static_cast<std::size_t>(sequence)];
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (!r.lora_scales[i].empty()) r.lora_scales[i][token] = scales[i];
  }
}

void Session::set_lora_scales(std::int32_t sequence, std::span<const float> scales) {
  impl_->memory.check_sequence(sequence);
  const std::span<const LoraFile> loras = impl_->model->adapters().loras();
  if (scales.size() != loras.size())
    fail<ValueError>("the model has {} LoRAs, got {} scales", loras.size(), scales.size());
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (!std::isfinite(scales[i]))
      fail<ValueError>("{}: the scale must be a finite number, got {}",
                       printable_path(loras[i].path), scales[i]);
  }
  std::ranges::copy(scales, impl_->lora_scales[static_cast<std::size_t>(sequence)].begin());
}

std::span<const float> Session::lora_scales(std::int32_t sequence) const {
  impl_->memory.check_sequence(sequence);
  return impl_->lora_scales[static_cast<std::size_t>(sequence)];
}

}  // namespace weft
