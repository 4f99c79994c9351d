#include "streaming/expert_guesses.h"

#include <algorithm>
#include <array>

#include "weft/graph/row_layout.h"
#include "weft/ops/formats/format.h"

namespace weft::run {
namespace {

// Added in lanes, so that compilers can use vectors. REQUIRES: n is a multiple of kLanes.
constexpr std::int64_t kLanes = 16;
float dot(const float* a, const float* b, std::int64_t n) {
  std::array<float, kLanes> sums{};
  for (std::int64_t i = 0; i < n; i += kLanes)
    for (std::int64_t k = 0; k < kLanes; ++k)
      sums[static_cast<std::size_t>(k)] += a[i + k] * b[i + k];
  float sum = 0;
  for (const float s : sums) sum += s;
  return sum;
}

}  // namespace

ExpertGuesses::ExpertGuesses(const Checkpoint& file, const Residency& residency,
                             const InMemory& in_memory) {
  routers_.resize(residency.groups.size());
  for (std::size_t i = 1; i < routers_.size(); ++i) {
    const ExpertGroup& before = residency.groups[i - 1];
    const ExpertGroup& group = residency.groups[i];
    if (!residency.guesses(i)) continue;
    const std::int64_t width = file.find_tensor(group.router)->spec.shape.last();
    if (file.find_tensor(before.router)->spec.shape.last() != width || width % kLanes != 0)
      continue;
    const float* weights = floats_of(in_memory(group.router));
    const float* norm = floats_of(in_memory(group.router_norm));
    const float* norm_before = floats_of(in_memory(before.router_norm));
    if (!weights || !norm || !norm_before) continue;
    Router& router = routers_[i];
    router = {.weights = weights, .n_experts = group.n_experts, .n_chosen = group.n_chosen};
    for (std::int64_t d = 0; d < width; ++d)
      router.scales.push_back(norm_before[d] != 0 ? norm[d] / norm_before[d] : 0);
    input_.resize(std::max(input_.size(), router.scales.size()));
    scores_.resize(std::max(scores_.size(), static_cast<std::size_t>(group.n_experts)));
  }
}

const float* ExpertGuesses::floats_of(const View& weight) {
  if (!weight || weight.dtype.plain() != f32) return nullptr;
  const RowLayout* layout = weight.dtype.layout();
  if (!layout) return weight.row<const float>(0);
  Buffer& copy = copies_.emplace_back(f32.bytes(weight.rows() * weight.cols()));
  for (std::int64_t r = 0; r < weight.rows(); ++r)
    layout->read_row(weight, r, copy.data() + r * f32.bytes(weight.cols()));
  return reinterpret_cast<const float*>(copy.data());
}

std::int64_t ExpertGuesses::copied_bytes() const {
  std::int64_t sum = 0;
  for (const Buffer& copy : copies_) sum += copy.size();
  return sum;
}

void ExpertGuesses::add(std::size_t group, const View& x, std::int64_t r,
                        std::vector<std::int32_t>& experts) noexcept {
  const Router& router = routers_[group];
  const auto width = static_cast<std::int64_t>(router.scales.size());
  const Format* format = find_format(x.dtype);
  if (x.cols() != width || format == nullptr || format->decode == nullptr) return;
  format->decode(x.row<const std::byte>(r), input_.data(), width);
  for (std::size_t d = 0; d < router.scales.size(); ++d) input_[d] *= router.scales[d];
  const std::span<Score> scores =
      std::span(scores_).first(static_cast<std::size_t>(router.n_experts));
  for (std::int64_t e = 0; e < router.n_experts; ++e)
    scores[static_cast<std::size_t>(e)] = {dot(router.weights + e * width, input_.data(), width),
                                           static_cast<std::int32_t>(e)};
  const auto n = static_cast<std::ptrdiff_t>(std::min(router.n_chosen, router.n_experts));
  std::ranges::partial_sort(scores, scores.begin() + n, std::greater(), &Score::value);
  for (const Score& score : scores.first(static_cast<std::size_t>(n)))
    experts.push_back(score.expert);
}

}  // namespace weft::run
