#include "weft/ops/positions/rope_angles.h"

#include <algorithm>
#include <numbers>
#include <optional>

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

void check_attrs(const RopeAttrs& a) {
  if (a.n_rot < 2 || a.n_rot % 2 != 0) {
    fail<ValueError>("n_rot must be even and at least 2, got {}", a.n_rot);
  }
  expect_positive("base", a.base);
  expect_positive("freq_scale", a.freq_scale);
  expect_finite("ext_factor", a.ext_factor);
  expect_finite("attn_factor", a.attn_factor);
  if (a.time < 0 || a.height < 0 || a.width < 0)
    fail<ValueError>("sections must not be negative, got {}, {}, {}", a.time, a.height, a.width);
  if (a.ext_factor == 0) return;
  expect_positive("beta_fast", a.beta_fast);
  expect_positive("beta_slow", a.beta_slow);
  expect_positive("original_context", a.original_context);
  if (a.base == 1) fail<ValueError>("base must not be 1 with YaRN");
}

TensorSpec infer(const Attrs& attrs, Specs in) {
  const auto& a = attrs.as<RopeAttrs>();
  check_attrs(a);
  const TensorSpec &pos = in[0], &factors = in[1];
  expect_dtype("pos", pos, i32);
  expect_form(pos.shape.n_dims() == 1, "pos", pos, "[T]");
  if (factors.present()) {
    expect_dtype("factors", factors, f32);
    expect_shape("factors", factors, {a.n_rot / 2});
  }
  return {f32, {pos.shape[0], a.n_rot}};
}

// YaRN section 3.2: pairs that rotate often within the original context keep their angle (1), those
// that rotate less than once use the scaled one (0), with a linear ramp between. The index of the
// pair that makes `beta` rotations follows from its wavelength.
struct Ramp {
  explicit Ramp(const RopeAttrs& a) {
    const auto pair_of = [&](double beta) {
      const double turns = a.original_context / (beta * 2 * std::numbers::pi);
      return a.n_rot * std::log(turns) / (2 * std::log(static_cast<double>(a.base)));
    };
    low = std::max(0.0, std::floor(pair_of(a.beta_fast)));
    high = std::min(a.n_rot - 1.0, std::ceil(pair_of(a.beta_slow)));
  }
  double at(std::int64_t i) const {
    const double y = (static_cast<double>(i) - low) / std::max(0.001, high - low);
    return 1 - std::clamp(y, 0.0, 1.0);
  }
  double low = 0, high = 0;
};

double magnitude(const RopeAttrs& a) {
  if (a.ext_factor == 0) return a.attn_factor;
  return a.attn_factor * (1 + 0.1 * std::log(1 / static_cast<double>(a.freq_scale)));
}

// Whether the pair belongs to a section that turns.
bool turns(const RopeAttrs& a, std::int64_t i) {
  const std::int32_t sizes[] = {a.time, a.height, a.width};
  const std::int64_t all = std::int64_t{a.time} + a.height + a.width;
  if (all == 0) return true;
  return a.interleaved ? i < 3 * std::int64_t{sizes[i % 3]} : i < all;
}

// The angle of each pair at position 1; angles grow linearly with the position.
class Frequencies {
 public:
  Frequencies(const RopeAttrs& a, const View& factors)
      : a_(a), factors_(factors ? factors.row<const float>(0) : nullptr) {
    if (a.ext_factor != 0) ramp_.emplace(a);
  }

  double operator[](std::int64_t i) const {
    if (!turns(a_, i)) return 0;
    const double exponent = -2.0 * static_cast<double>(i) / a_.n_rot;
    const double divisor = factors_ ? factors_[i] : 1;
    const double extrapolated = std::pow(static_cast<double>(a_.base), exponent) / divisor;
    const double interpolated = a_.freq_scale * extrapolated;
    const double mix = ramp_ ? ramp_->at(i) * a_.ext_factor : 0;
    return interpolated * (1 - mix) + extrapolated * mix;
  }

 private:
  const RopeAttrs& a_;
  const float* factors_;
  std::optional<Ramp> ramp_;  // with YaRN
};

void reference(const Attrs& attrs, Views in, View out) {
  rope_angles_region(attrs.as<RopeAttrs>(), in, out, Region::whole(out));
}

// The angle in f32 takes about 16 roundings (a power, a few products, the blend), and a cosine
// changes at most by as much as its angle.
void bound(const Attrs& attrs, Views in, View bounds) {
  const auto& a = attrs.as<RopeAttrs>();
  const Frequencies frequencies(a, in[1]);
  const double m = std::fabs(magnitude(a));
  const std::int32_t* pos = in[0].row<const std::int32_t>(0);
  for (std::int64_t i = 0; i < a.n_rot / 2; ++i) {
    const double frequency = frequencies[i];
    for (std::int64_t t = 0; t < bounds.rows(); ++t) {
      float* b = bounds.row<float>(t);
      b[2 * i] = b[2 * i + 1] = bound_up(m * rounding(16) * (1 + std::fabs(pos[t] * frequency)));
    }
  }
}

std::int64_t granule(const Attrs&, Specs, const TensorSpec&) {
  return 2;
}

constexpr OpInput kInputs[] = {{"pos", Reach::all}, {"factors", Reach::all, true}};

}  // namespace

void rope_angles_region(const RopeAttrs& a, Views in, const View& y,
                        const Region& region) noexcept {
  const Frequencies frequencies(a, in[1]);
  const double m = magnitude(a);
  const std::int32_t* pos = in[0].row<const std::int32_t>(0);
  for (std::int64_t c = region.col0; c < region.col1; c += 2) {
    const double frequency = frequencies[c / 2];
    for (std::int64_t t = region.row0; t < region.row1; ++t) {
      const double angle = pos[t] * frequency;
      y.row<float>(t)[c] = static_cast<float>(m * std::cos(angle));
      y.row<float>(t)[c + 1] = static_cast<float>(m * std::sin(angle));
    }
  }
}

const OpDef kRopeAngles{.name = "rope_angles",
                        .inputs = kInputs,
                        .attrs = &kAttrsType<RopeAttrs>,
                        .infer = infer,
                        .reference = reference,
                        .bound = bound,
                        .col_granule = granule,
                        .cuts = {.whole = true},
                        .positions = Positions::angles};

Tensor rope_angles(Tensor pos, const RopeAttrs& attrs, Tensor factors, SourceLine where) {
  return add_node(kRopeAngles, {pos, factors}, attrs, where);
}

}  // namespace weft
