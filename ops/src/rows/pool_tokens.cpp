#include "weft/ops/rows/pool_tokens.h"

#include <algorithm>

#include "recurrent/token_runs.h"

namespace weft {
namespace {

using namespace ops;
using namespace pool_tokens_inputs;
constexpr std::int64_t kFields = 3;  // fields of a pool: the largest score, two sums

TensorSpec infer(const Attrs& attrs, Specs in) {
  const auto& a = attrs.as<PoolTokensAttrs>();
  if (a.span < 1) fail<ValueError>("span must be at least 1, got {}", a.span);
  if (a.parts < 1) fail<ValueError>("parts must be at least 1, got {}", a.parts);
  const TensorSpec& x = in[kX];
  expect_dtype("x", x, f32);
  const bool fits = x.shape.n_dims() == 2 && x.shape[1].bound % a.parts == 0;
  expect_form(fits, "x", x, "[T, {} E]", a.parts);
  expect_dtype("scores", in[kScores], f32);
  expect_shape("scores", in[kScores], x.shape);
  expect_dtype("pos", in[kPos], i32);
  expect_shape("pos", in[kPos], {x.shape[0]});
  const std::int64_t width = x.shape[1].bound / a.parts;
  expect_state_rows(in, x.shape[0], {width, a.parts, kFields});
  return {f32, {x.shape[0], width}};
}

// The effect of a score on a pool: its new largest score, the factor of its sums so far, and the
// weight of the value that comes with the score. The sum of weights is 0 before the first token,
// and afterwards at least 1, the weight of the largest score.
struct Step {
  double max, kept, weight;
};
Step step_of(const float* pool, float score) {
  if (!(pool[1] > 0)) return {score, 0, 1};
  const double max = std::max(pool[0], score);
  return {max, std::exp(pool[0] - max), std::exp(score - max)};
}

// Adds a value to a pool. The sums are first rescaled to the new largest score.
void add(float* pool, float score, float value) {
  const auto [max, kept, weight] = step_of(pool, score);
  pool[0] = static_cast<float>(max);
  pool[1] = static_cast<float>(kept * pool[1] + weight);
  pool[2] = static_cast<float>(kept * pool[2] + weight * value);
}

// The data about a pool for its bounds: the magnitudes of the terms of its sums; the error of the
// terms in roundings of their own, since the arguments of their exps are rounded once (each moves
// its exp by its magnitude); the largest value; and the number of tokens added in this step.
struct Magnitudes {
  double sum = 0, weighted = 0, moved_sum = 0, moved_weighted = 0, largest = 0, n = 0;

  // Call it before add() with the same arguments.
  void add(const float* pool, float score, float value) {
    const auto [max, kept, weight] = step_of(pool, score);
    const double size = std::fabs(value), all = kept * (max - pool[0]), one = max - score;
    moved_sum = kept * moved_sum + all * sum + weight * one;
    moved_weighted = kept * moved_weighted + all * weighted + weight * one * size;
    sum = kept * sum + weight;
    weighted = kept * weighted + weight * size;
    largest = std::max(largest, size);
    ++n;
  }
  // The errors of the two sums. For every token: two exps that are good to 2 ulp, a product and a
  // sum, in addition to the definition's own rounding.
  double sum_off() const { return share() * sum + rounding(2) * moved_sum; }
  double weighted_off() const { return share() * weighted + rounding(2) * moved_weighted; }
  double share() const { return rounding(8 * n + 2); }
  double flushed() const { return n * kFlushed * (2 + largest); }
};

// One element along the tokens of a run.
struct Element {
  std::vector<float> pools;  // [P, 3]
  std::vector<Magnitudes> magnitudes;
};

// Calls before(t, e, element) and each(t, e, y, element) for every token and element, in the order
// of each sequence.
template <class Before, class Each>
void for_each_element(const PoolTokensAttrs& a, Views in, const TokenRuns& tokens, Before before,
                      Each each) {
  const std::int64_t width = in[kState].dim(1), n = kFields * a.parts;
  for (const TokenRuns::Run& run : tokens.runs) {
    for (std::int64_t e = 0; e < width; ++e) {
      Element s{std::vector<float>(static_cast<std::size_t>(n)),
                std::vector<Magnitudes>(static_cast<std::size_t>(a.parts))};
      if (run.from >= 0) {
        std::copy_n(in[kState].row<const float>(run.from) + e * n, n, s.pools.begin());
        for (std::size_t i = 0; i < s.magnitudes.size(); ++i) {
          s.magnitudes[i].sum = std::fabs(s.pools[kFields * i + 1]);
          s.magnitudes[i].weighted = std::fabs(s.pools[kFields * i + 2]);
        }
      }
      for (const std::int64_t t : run.tokens) {
        before(t, e, s);
        each(t, e, pool_token(a, in, t, e, s.pools.data()), s);
      }
    }
  }
}

bool begins_span(const PoolTokensAttrs& a, Views in, std::int64_t t) {
  return in[kPos].row<const std::int32_t>(0)[t] % a.span == 0;
}

// Advances the magnitudes by token t, as pool_token() then does the pools.
void advance(const PoolTokensAttrs& a, Views in, std::int64_t t, std::int64_t e, Element& s) {
  const std::int64_t width = in[kState].dim(1);
  std::vector<float> pools = s.pools;
  if (begins_span(a, in, t)) {
    std::shift_left(s.magnitudes.begin(), s.magnitudes.end(), 1);
    s.magnitudes.back() = {};
    std::shift_left(pools.begin(), pools.end(), kFields);
    std::fill_n(pools.end() - kFields, kFields, 0.0f);
  }
  for (std::int64_t i = 0; i < a.parts; ++i) {
    const std::int64_t pool = a.parts - 1 - i, c = i * width + e;
    s.magnitudes[static_cast<std::size_t>(pool)].add(pools.data() + kFields * pool,
                                                     in[kScores].row<const float>(t)[c],
                                                     in[kX].row<const float>(t)[c]);
  }
}

void reference(const Attrs& attrs, Views in, View out) {
  const TokenRuns tokens(in);
  for_each_element(
      attrs.as<PoolTokensAttrs>(), in, tokens, [](std::int64_t, std::int64_t, Element&) {},
      [&](std::int64_t t, std::int64_t e, float y, const Element& s) {
        out.row<float>(t)[e] = y;
        if (const std::int32_t row = tokens.to[t]; row >= 0)
          std::ranges::copy(s.pools, in[kState].row<float>(row) + e * std::ssize(s.pools));
      });
}

// The quotient of two sums.
void bound(const Attrs& attrs, Views in, View bounds) {
  const auto& a = attrs.as<PoolTokensAttrs>();
  for_each_element(
      a, in, TokenRuns(in),
      [&](std::int64_t t, std::int64_t e, Element& s) { advance(a, in, t, e, s); },
      [&](std::int64_t t, std::int64_t e, float y, const Element& s) {
        const Magnitudes& m = s.magnitudes[0];
        const double size = std::fabs(double{y});
        const double off = m.weighted_off() + size * m.sum_off() + m.flushed() * (1 + size);
        bounds.row<float>(t)[e] =
            bound_up(off / std::fabs(double{s.pools[1]}) + rounding(2) * size + kFlushed);
      });
}

void update_bound(const Attrs& attrs, Views in, View bounds) {
  const auto& a = attrs.as<PoolTokensAttrs>();
  exact({}, in, bounds);
  const TokenRuns tokens(in);
  for_each_element(
      a, in, tokens, [&](std::int64_t t, std::int64_t e, Element& s) { advance(a, in, t, e, s); },
      [&](std::int64_t t, std::int64_t e, float, const Element& s) {
        const std::int32_t row = tokens.to[t];
        if (row < 0) return;
        float* b = bounds.row<float>(row) + e * kFields * a.parts;
        for (const Magnitudes& m : s.magnitudes) {
          *b++ = 0;
          *b++ = m.n == 0 ? 0 : bound_up(m.sum_off() + m.flushed());
          *b++ = m.n == 0 ? 0 : bound_up(m.weighted_off() + m.flushed());
        }
      });
}

// Two exps and a few products for every element of x.
Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  Cost cost = recurrent_cost(in, out, extents, 0);
  cost.multiply_adds = elems_at(in[kX], extents) * 16;
  return cost;
}

// Element e of every part: the columns in between are not needed.
ColRange map_cols(const Attrs& attrs, Specs in, int index, ColRange out) {
  const std::int64_t parts = attrs.as<PoolTokensAttrs>().parts;
  if (index == static_cast<int>(kState))
    return {out.begin * parts * kFields, out.end * parts * kFields};
  return {out.begin, out.end + (parts - 1) * in[kState].shape[1].bound};
}

constexpr OpInput kInputs[] = {
    {"x", Reach::col},    {"scores", Reach::col}, {"pos", Reach::all}, {"state", Reach::col},
    {"from", Reach::all}, {"before", Reach::all}, {"to", Reach::all}};

}  // namespace

float pool_token(const PoolTokensAttrs& a, Views in, std::int64_t t, std::int64_t e,
                 float* pools) noexcept {
  const std::int64_t width = in[kState].dim(1), n = kFields * a.parts;
  if (begins_span(a, in, t)) {
    std::copy(pools + kFields, pools + n, pools);
    std::fill(pools + n - kFields, pools + n, 0.0f);
  }
  const float *x = in[kX].row<const float>(t) + e, *scores = in[kScores].row<const float>(t) + e;
  for (std::int64_t i = 0; i < a.parts; ++i)
    add(pools + kFields * (a.parts - 1 - i), scores[i * width], x[i * width]);
  return static_cast<float>(static_cast<double>(pools[2]) / pools[1]);
}

const OpDef kPoolTokens{.name = "pool_tokens",
                        .inputs = kInputs,
                        .attrs = &kAttrsType<PoolTokensAttrs>,
                        .infer = infer,
                        .reference = reference,
                        .bound = bound,
                        .cost = cost,
                        .map_cols = map_cols,
                        .splits_rows = false,
                        .updates = kState,
                        .update_bound = update_bound};

Tensor pool_tokens(Tensor x, Tensor scores, Tensor pos, const PoolTokensAttrs& attrs,
                   const StateRows& rows, SourceLine where) {
  return add_node(kPoolTokens, {x, scores, pos, rows.state, rows.from, rows.before, rows.to}, attrs,
                  where);
}

}  // namespace weft
