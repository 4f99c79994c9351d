// What concerns whole sequences: loops over the parties that follow them.
#include <algorithm>
#include <limits>

#include "weft/base/error.h"
#include "weft/run/ranks.h"

#include "session/session_impl.h"

namespace weft {

using namespace run;

namespace {

// Throws unless the sequence can continue from that length.
void check_resumes(const std::vector<std::unique_ptr<PerSequence>>& parties, std::int32_t sequence,
                   std::int64_t length, std::int64_t all) {
  for (const auto& party : parties) {
    const std::int64_t point = party->resume_point(sequence, length);
    if (point != length)
      fail<UnsupportedError>("sequence {} cannot continue from {} of its {} tokens, only from {}",
                             sequence, length, all, point);
  }
}

}  // namespace

std::int64_t Session::length(std::int32_t sequence) const {
  impl_->memory.lengths().check(sequence);
  return impl_->memory.length(sequence);
}

std::span<const std::int32_t> Session::tokens(std::int32_t sequence) const {
  impl_->memory.lengths().check_grows(sequence);
  return impl_->ids.of(sequence);
}

std::int64_t Session::common_prefix(std::int32_t sequence, std::span<const std::int32_t> ids,
                                    std::int64_t from) const {
  impl_->memory.lengths().check(sequence);
  return impl_->ids.common_prefix(sequence, ids, from);
}

std::int64_t Session::free_positions() const {
  std::int64_t n = std::numeric_limits<std::int64_t>::max();
  for (const auto& part : impl_->memory.parts()) n = std::min(n, part->free_positions());
  return n;
}

std::int64_t Session::resume_point(std::int32_t sequence, std::int64_t n) const {
  if (n < 0 || n > length(sequence))
    fail<ValueError>("sequence {} has {} tokens, not {}", sequence, length(sequence), n);
  for (const auto& party : impl_->parties) n = party->resume_point(sequence, n);
  return n;
}

void Session::truncate(std::int32_t sequence, std::int64_t new_length) {
  if (new_length < 0 || new_length > length(sequence)) {
    fail<ValueError>("sequence {} has {} tokens, cannot truncate to {}", sequence, length(sequence),
                     new_length);
  }
  check_resumes(impl_->parties, sequence, new_length, length(sequence));
  for (const auto& party : impl_->parties) party->truncate(sequence, new_length);
}

void Session::clear(std::int32_t sequence) {
  impl_->memory.lengths().check(sequence);
  for (const auto& party : impl_->parties) party->clear(sequence);
}

void Session::copy(std::int32_t from, std::int32_t to, std::int64_t new_length) {
  impl_->memory.lengths().check(to);
  if (new_length < 0 || new_length > length(from)) {
    fail<ValueError>("sequence {} has {} tokens, cannot copy {}", from, length(from), new_length);
  }
  if (from == to) return truncate(to, new_length);
  check_resumes(impl_->parties, from, new_length, length(from));
  for (const auto& party : impl_->parties) party->copy(from, to, new_length);
}

std::string Session::why_not_saved(std::int32_t sequence) const {
  impl_->memory.lengths().check(sequence);
  for (const auto& party : impl_->parties)
    if (std::string why = party->why_not_saved(sequence); !why.empty()) return why;
  return "";
}

void Session::fill_with_noise(std::int32_t sequence, std::int64_t length) {
  impl_->memory.lengths().check_grows(sequence);
  impl_->memory.lengths().check_length(sequence, length);
  for (const auto& party : impl_->parties) party->fill_with_noise(sequence, length);
  if (!impl_->model->facts().encodes) return;
  impl_->text->fill_with_noise(0, length);
  impl_->text->truncate(0, 0);
}

// ---- scales of LoRAs

void Session::Impl::write_scales(Runner& r, std::size_t token, std::int32_t sequence) {
  const std::span<const float> scales = lora_scales.of(sequence);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (!r.lora_scales[i].empty()) r.lora_scales[i][token] = scales[i];
  }
}

void Session::set_lora_scales(std::int32_t sequence, std::span<const float> scales) {
  impl_->memory.lengths().check_grows(sequence);
  const bool is_empty = length(sequence) == 0;
  const std::span<const LoraFile> loras = impl_->model->adapters().loras();
  if (scales.size() != loras.size())
    fail<ValueError>("the model has {} LoRAs, got {} scales", loras.size(), scales.size());
  for (std::size_t i = 0; i < scales.size(); ++i) check_scale(loras[i].path, scales[i]);
  if (impl_->others) impl_->others->set_lora_scales(sequence, scales);
  impl_->lora_scales.set(sequence, scales, is_empty);
}

std::span<const float> Session::lora_scales(std::int32_t sequence) const {
  impl_->memory.lengths().check(sequence);
  return impl_->lora_scales.of(sequence);
}

bool Session::mixes_lora_scales(std::int32_t sequence) const {
  impl_->memory.lengths().check(sequence);
  return impl_->lora_scales.are_mixed(sequence);
}

// ---- ranks

std::int64_t prompt_chunk(const Model& model, std::int64_t widest, std::int64_t n) {
  constexpr std::int64_t kPerStage = 8, kNarrowest = 32, kWidest = 128;
  const std::int64_t stages = model.sharding().pp;
  if (stages == 1 || model.facts().recurrent || !model.facts().causal) return widest;
  const std::int64_t wanted = (n / (kPerStage * stages) + kNarrowest - 1) / kNarrowest * kNarrowest;
  return std::min(widest, std::clamp(wanted, kNarrowest, kWidest));
}

std::span<const VerifyReport> reports_of_ranks(const Session& session) {
  const OtherRanks* const others = SessionAccess::impl(session).others;
  return others ? others->reports() : std::span<const VerifyReport>();
}

}  // namespace weft
