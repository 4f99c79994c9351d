#pragma once
// Code shared by the definitions of attention, biased_attention, chosen_attention and
// joined_attention. The first three differ in their Extras; inputs 0 to 6 are the same.

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "weft/ops/attention/alibi.h"
#include "weft/ops/attention/attention.h"
#include "weft/ops/attention/cache_cells.h"
#include "weft/ops/formats/q8a.h"

#include "op_support.h"

namespace weft::ops::definition {

// The checks that the ops share, and their output.
inline TensorSpec infer_runs(Specs in) {
  const TensorSpec &q = in[0], &k = in[1], &v = in[2], &table = in[3];
  if (q.dtype != q8a) expect_dtype("q", q, f32);
  expect_form(q.shape.n_dims() == 3, "q", q, "[T, H, E]");
  expect_cache("k", k);
  const std::int64_t heads = q.shape[1].bound, e = q.shape[2].bound;
  const std::int64_t groups = k.shape[1].bound;
  const bool k_fits = k.shape[3].bound == e && groups > 0 && heads % groups == 0;
  expect_form(k_fits, "k", k, "[B, G, {}, {}] with G a divisor of {}", kCellsPerBlock, e, heads);
  expect_cache("v", v);
  const bool v_fits = v.shape[0] == k.shape[0] && v.shape[1] == k.shape[1];
  expect_form(v_fits, "v", v, "[{}, {}, {}, E']", to_string(k.shape[0]), groups, kCellsPerBlock);
  expect_dtype("table", table, i32);
  const bool is_table = table.shape.n_dims() == 2 && !table.shape[0].varies();
  expect_form(is_table, "table", table, "[Q, M]");
  for (const auto& [name, spec] :
       {std::pair{"table_row", in[4]}, {"first", in[5]}, {"last", in[6]}}) {
    expect_dtype(name, spec, i32);
    expect_shape(name, spec, {q.shape[0]});
  }
  return {f32, {q.shape[0], q.shape[1], v.shape[3]}};
}

// Whole groups of query heads with their keys and values; one group is shared by all parts.
inline Cuts cut_attention(Specs in, const TensorSpec& out, const Cut& cut) {
  if (cut.axis != 1) return std::nullopt;
  std::vector<Cut> cuts(in.size());
  cuts[0] = cut;
  const std::int64_t groups = in[1].shape[1].bound;
  if (groups == 1) return cuts;
  const auto by_group = cut.scaled(1, groups, out.shape[1].bound);
  if (!by_group) return std::nullopt;
  cuts[1] = cuts[2] = *by_group;
  return cuts;
}

// One token and one query head: the softmax weights of its keys, and the parts of their errors.
struct Head {
  std::vector<std::int64_t> positions = {};
  std::vector<double> p = {};  // softmax over the positions
  double sink = 0;             // the part of the sink
  double magnitude = 0;        // the largest sum of magnitudes of a score's terms
  double score_error = 0;      // the error bound of a score in f32
};

// The sum that is added to a score. Its parts may cancel.
struct Bias {
  double sum = 0, magnitude = 0;
  void add(double part) {
    sum += part;
    magnitude += std::fabs(part);
  }
};

// The attributes and inputs that only some of the three ops have.
struct Extras {
  BiasedAttentionAttrs a;
  View pos = {}, sinks = {}, distances = {}, chosen = {};
  std::int64_t span = 1;
};

// The inputs of a node, and the softmax weights of its heads.
class Lookup {
 public:
  Lookup(const Extras& extras, Views in)
      : a_(extras.a),
        q_(in[0]),
        k_(in[1]),
        v_(in[2]),
        table_(in[3]),
        slot_(in[4].row<const std::int32_t>(0)),
        first_(in[5].row<const std::int32_t>(0)),
        last_(in[6].row<const std::int32_t>(0)),
        pos_(extras.pos ? extras.pos.row<const std::int32_t>(0) : last_),
        sinks_(extras.sinks ? extras.sinks.row<const float>(0) : nullptr),
        distances_(extras.distances),
        chosen_(extras.chosen),
        span_(extras.span),
        q_rows_(decode_rows(q_)),
        k_rows_(decode_rows(k_)),
        v_rows_(decode_rows(v_)),
        group_(q_.dim(1) / k_.dim(1)) {}

  const float* value(std::int64_t t, std::int64_t s, std::int64_t h) const {
    return cell(v_, v_rows_, t, s, h);
  }
  DType values_dtype() const { return v_.dtype; }
  // Whether kernels may copy the cells that are attended to, which puts others beside each other
  // than those of a block.
  bool gathers() const { return chosen_ && span_ % kCellsPerBlock != 0; }

  // Two passes: the scores, then their softmax.
  Head weights(std::int64_t t, std::int64_t h) const {
    Head head = scores(t, h);
    softmax(head, h);
    return head;
  }

  // The head with scores in place of weights.
  Head scores(std::int64_t t, std::int64_t h) const {
    Head head{.positions = positions(t, h)};
    const std::int64_t e = q_.dim(2);
    const float* q = q_rows_.data() + t * q_.cols() + h * e;
    for (const std::int64_t s : head.positions) {
      const float* k = cell(k_, k_rows_, t, s, h);
      double product = 0, total = 0;
      for (std::int64_t i = 0; i < e; ++i) {
        product += static_cast<double>(q[i]) * k[i];
        total += std::fabs(static_cast<double>(q[i]) * k[i]);
      }
      const Bias b = bias(h, s - pos_[t]);
      head.p.push_back(capped(a_.scale * product) + b.sum);
      head.magnitude = std::max(head.magnitude, std::fabs(a_.scale) * total + b.magnitude);
    }
    return head;
  }

  // Makes weights of the scores of head h.
  void softmax(Head& head, std::int64_t h) const {
    double largest = sinks_ ? sinks_[h] : -HUGE_VAL;
    for (const double score : head.p) largest = std::max(largest, score);
    head.sink = sinks_ ? std::exp(sinks_[h] - largest) : 0;
    double sum = head.sink;
    for (double& p : head.p) sum += p = std::exp(p - largest);
    for (double& p : head.p) p /= sum;
    head.sink /= sum;
    // Four more roundings in the slope of a bias, eight in tanh, whose slope is at most 1.
    const bool plain = a_.softcap == 0 && a_.alibi == 0 && !sinks_ && !distances_;
    double magnitude = head.magnitude;
    if (sinks_) magnitude = std::max(magnitude, std::fabs(static_cast<double>(sinks_[h])));
    head.score_error = rounding(static_cast<double>(q_.dim(2) + (plain ? 4 : 16))) * magnitude;
  }

 private:
  // Those that head h of token t attends to, in ascending order.
  std::vector<std::int64_t> positions(std::int64_t t, std::int64_t h) const {
    std::vector<std::int64_t> all;
    const auto add = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t s = begin; s <= end; ++s) all.push_back(s);
    };
    if (!chosen_) {
      add(first_[t], last_[t]);
      return all;
    }
    const std::int64_t n = chosen_.dim(2), c = h / (q_.dim(1) / chosen_.dim(1));
    const std::int32_t* numbers = chosen_.row<const std::int32_t>(t) + c * n;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t begin = numbers[i] * span_, end = begin + span_ - 1;
      if (numbers[i] >= 0)
        add(std::max<std::int64_t>(begin, first_[t]), std::min<std::int64_t>(end, last_[t]));
    }
    return all;
  }
  // The cell of position s of token t's sequence, as head h reads it.
  const float* cell(const View& cache, const std::vector<float>& rows, std::int64_t t,
                    std::int64_t s, std::int64_t h) const {
    const std::int32_t block = table_.row<const std::int32_t>(slot_[t])[s / kCellsPerBlock];
    const std::int64_t cell = block * kCellsPerBlock + s % kCellsPerBlock;
    const CellPlace place = cell_place(cell, h / group_, cache.dim(3));
    return rows.data() + place.row * cache.cols() + place.col;
  }

  double capped(double score) const {
    return a_.softcap == 0 ? score : a_.softcap * std::tanh(score / a_.softcap);
  }
  // The bias of head h for a key `d` positions after the token.
  Bias bias(std::int64_t h, std::int64_t d) const {
    Bias all;
    if (a_.alibi != 0) {
      const double slope = alibi_slope(a_.alibi, h, q_.dim(1));
      all.add(-slope * std::fabs(static_cast<double>(d)));
    }
    if (distances_) {
      const std::int64_t r = distances_.rows() / 2;
      all.add(distances_.row<const float>(std::clamp(d, -r, r) + r)[h]);
    }
    return all;
  }

  BiasedAttentionAttrs a_;
  const View &q_, &k_, &v_, &table_;
  const std::int32_t *slot_, *first_, *last_, *pos_;
  const float* sinks_;
  View distances_, chosen_;
  std::int64_t span_;
  std::vector<float> q_rows_, k_rows_, v_rows_;
  std::int64_t group_;
};

// Calls f(t, h, weights of that head) for all.
template <class AnyLookup, class F>
void for_each_head(const AnyLookup& lookup, const View& out, F f) {
  for (std::int64_t t = 0; t < out.rows(); ++t) {
    for (std::int64_t h = 0; h < out.dim(1); ++h) f(t, h, lookup.weights(t, h));
  }
}

// `look_up` makes a Lookup from the attributes and inputs of a node, or another class with the same
// weights(), value(), values_dtype() and gathers().
template <auto look_up>
void reference(const Attrs& attrs, Views in, View out) {
  const auto lookup = look_up(attrs, in);
  const std::int64_t width = out.dim(2);
  for_each_head(lookup, out, [&](std::int64_t t, std::int64_t h, const Head& head) {
    float* y = out.row<float>(t) + h * width;
    for (std::int64_t i = 0; i < width; ++i) {
      double sum = 0;
      for (std::size_t n = 0; n < head.p.size(); ++n) {
        sum += head.p[n] * lookup.value(t, head.positions[n], h)[i];
      }
      y[i] = static_cast<float>(sum);
    }
  });
}

// If values are quantized, the weight of a cell's codes (p times the block's scale) may be rounded
// to a multiple of (largest p times largest scale in the block of cells) / (2^15 - 1). The error is
// at most half of that, times the largest code. This assumes caches as encoders write them, with a
// code at the end of its range in every block. Blocks of cells whose p are all below 2^-60 of the
// largest, or of the part of the sink, may be skipped. Gathered cells may share a block with any
// others.
template <class AnyLookup>
double rounded_weights(const Head& head, const AnyLookup& lookup, std::int64_t t, std::int64_t h,
                       std::int64_t width) {
  double peaks = 0, largest = 0, top = head.sink;
  std::map<std::int64_t, double> peak;  // by block of cells
  const auto peak_of = [&](std::size_t n) -> double& {
    return peak[lookup.gathers() ? 0 : head.positions[n] / kCellsPerBlock];
  };
  for (std::size_t n = 0; n < head.p.size(); ++n) {
    peak_of(n) = std::max(peak_of(n), head.p[n]);
    top = std::max(top, head.p[n]);
    const float* v = lookup.value(t, head.positions[n], h);
    for (std::int64_t i = 0; i < width; ++i)
      largest = std::max(largest, std::fabs(static_cast<double>(v[i])));
  }
  for (std::size_t n = 0; n < head.p.size(); ++n) peaks += peak_of(n) / 65534 + 0x1p-60 * top;
  return peaks * largest;
}

// A score is off by d = gamma_{E+4} * scale * sum |q k| (the subtraction of the maximum included),
// so exp(score) by a factor within exp(+-d), and so is the sum that divides it: exp(2 d) for a
// weight. Products, sum, division, exp and the rescaling of online softmax add two roundings per
// key and 16. The error from rounding weights is itself off by that factor: its unit comes from a
// p.
template <auto look_up>
void bound(const Attrs& attrs, Views in, View bounds) {
  const auto lookup = look_up(attrs, in);
  const std::int64_t width = bounds.dim(2);
  for_each_head(lookup, bounds, [&](std::int64_t t, std::int64_t h, const Head& head) {
    const double n_roundings = 2 * static_cast<double>(head.p.size()) + 16;
    const double rounded =
        lookup.values_dtype().block_elems() > 1 ? rounded_weights(head, lookup, t, h, width) : 0;
    const double share = std::expm1(2 * head.score_error) + rounding(n_roundings);
    float* b = bounds.row<float>(t) + h * width;
    for (std::int64_t i = 0; i < width; ++i) {
      double total = 0, largest = 0;
      for (std::size_t n = 0; n < head.p.size(); ++n) {
        const double v = std::fabs(lookup.value(t, head.positions[n], h)[i]);
        total += head.p[n] * v;
        largest = std::max(largest, v);
      }
      b[i] =
          bound_up(share * total + rounded * (1 + share) + n_roundings * kFlushed * (1 + largest));
    }
  });
}

// Whole heads: the same query heads, and the kv heads that these share.
inline ColRange map_cols(const Attrs&, Specs in, int index, ColRange out) {
  const std::int64_t width = in[2].shape.last();
  const std::int64_t per_group = index == 0 ? 1 : in[0].shape[1].bound / in[1].shape[1].bound;
  const std::int64_t e = in[static_cast<std::size_t>(index)].shape.last();
  const std::int64_t part = index == 0 ? e : kCellsPerBlock * e;
  const std::int64_t step = width * per_group;
  return {out.begin / step * part, (out.end + step - 1) / step * part};
}

}  // namespace weft::ops::definition
