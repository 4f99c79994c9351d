// The scales of LoRAs by sequence.
#include <algorithm>

#include "weft/base/error.h"

#include "session_impl.h"

namespace weft {

using namespace run;

std::vector<float> Session::Impl::default_scales() const {
  std::vector<float> scales;
  for (const LoraFile& lora : model->adapters().loras()) scales.push_back(lora.scale);
  return scales;
}

void Session::Impl::write_scales(Runner& r, std::size_t token, std::int32_t sequence) {
  const std::vector<float>& scales = lora_scales[static_cast<std::size_t>(sequence)].now;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (!r.lora_scales[i].empty()) r.lora_scales[i][token] = scales[i];
  }
}

void Session::Impl::forget_mixed(std::int32_t sequence) {
  lora_scales[static_cast<std::size_t>(sequence)].mixed = false;
}

void Session::set_lora_scales(std::int32_t sequence, std::span<const float> scales) {
  impl_->memory.check_sequence(sequence);
  const std::span<const LoraFile> loras = impl_->model->adapters().loras();
  if (scales.size() != loras.size())
    fail<ValueError>("the model has {} LoRAs, got {} scales", loras.size(), scales.size());
  for (std::size_t i = 0; i < scales.size(); ++i) check_scale(loras[i].path, scales[i]);
  if (impl_->followers) impl_->followers->set_lora_scales(sequence, scales);
  Impl::LoraScales& own = impl_->lora_scales[static_cast<std::size_t>(sequence)];
  if (impl_->memory.length(sequence) > 0 && !std::ranges::equal(scales, own.now)) own.mixed = true;
  std::ranges::copy(scales, own.now.begin());
}

std::span<const float> Session::lora_scales(std::int32_t sequence) const {
  impl_->memory.check_sequence(sequence);
  return impl_->lora_scales[static_cast<std::size_t>(sequence)].now;
}

bool Session::mixes_lora_scales(std::int32_t sequence) const {
  impl_->memory.check_sequence(sequence);
  return impl_->lora_scales[static_cast<std::size_t>(sequence)].mixed;
}

}  // namespace weft
