// The cases of ops that architectures beyond plain decoders need: heads, routing, indexers, ids.

#include <fmt/format.h>

#include "weft/ops/attention/attention.h"
#include "weft/ops/attention/attention_temperature.h"
#include "weft/ops/attention/bucket_distances.h"
#include "weft/ops/attention/cache_cells.h"
#include "weft/ops/attention/choose_positions.h"
#include "weft/ops/attention/chosen_attention.h"
#include "weft/ops/attention/dot_heads.h"
#include "weft/ops/attention/joined_attention.h"
#include "weft/ops/elementwise/exp.h"
#include "weft/ops/elementwise/lerp.h"
#include "weft/ops/elementwise/sqrt.h"
#include "weft/ops/elementwise/xielu.h"
#include "weft/ops/ids/divide_ids.h"
#include "weft/ops/ids/gaussian_top_k.h"
#include "weft/ops/ids/get_ids.h"
#include "weft/ops/ids/ids_to_floats.h"
#include "weft/ops/ids/negate_ids.h"
#include "weft/ops/ids/remainder_ids.h"
#include "weft/ops/ids/replace_id.h"
#include "weft/ops/ids/round_to_ids.h"
#include "weft/ops/ids/top_k.h"
#include "weft/ops/norms/stream_weights.h"
#include "weft/ops/positions/shift_positions.h"
#include "weft/ops/projections/head_linear.h"
#include "weft/ops/rows/concat_heads.h"
#include "weft/ops/rows/gather.h"
#include "weft/ops/rows/hadamard.h"
#include "weft/ops/rows/keep_rows.h"
#include "weft/ops/rows/pad_heads.h"
#include "weft/ops/rows/repeat_heads.h"
#include "weft/ops/rows/scale_heads.h"
#include "weft/ops/rows/slice_heads.h"
#include "weft/ops/rows/weighted_sum.h"

#include "conform/cases.h"

namespace weft::conform {
namespace {

// Makes the inputs of a case for t tokens, and its cases.
class Maker {
 public:
  Maker(std::vector<Case>& cases, std::int64_t t) : cases_(cases), t_(t) {}

  // `inputs` makes the inputs of the node in a graph whose tokens are T.
  template <class F>
  void add(const OpDef& op, std::string types, std::string shape, const Attrs& attrs, F inputs,
           std::int64_t limit = 1) {
    const auto build = [=, &op, t = t_](Graph& g) {
      const std::vector<Tensor> in = inputs(g, g.variable("T", t));
      g.output("y", g.add(op, in, attrs, std::source_location::current(), "node"));
    };
    cases_.push_back(
        {std::string(op.name), std::move(types), fmt::format("{} x {}", t_, shape), build, limit});
  }

 private:
  std::vector<Case>& cases_;
  std::int64_t t_;
};

Tensor floats(Graph& g, const char* name, std::initializer_list<Dim> dims) {
  return g.input(name, {f32, dims});
}
Tensor ids(Graph& g, const char* name, std::initializer_list<Dim> dims) {
  return g.input(name, {i32, dims});
}

void add_elements(Maker& make) {
  for (const std::int64_t d : {2, 31, 256}) {
    const std::string shape = fmt::format("{}", d);
    const auto rows = [=](Graph& g, Dim t) { return std::vector{floats(g, "x", {t, d})}; };
    make.add(kExp, "F32", shape, {}, rows);
    make.add(kSqrt, "F32", shape, {}, rows);
    make.add(kXielu, "F32", shape, XieluAttrs{0.8f, 0.6f, 0.5f, -1e-6f}, rows);
    make.add(kGaussianTopK, "F32", shape, GaussianTopKAttrs{1.2f}, rows);
    make.add(
        kAttentionTemperature, "F32", shape, TemperatureAttrs{.scale = 0.1f, .length = 64},
        [=](Graph& g, Dim t) {
          return std::vector{floats(g, "x", {t, d}), ids(g, "pos", {t})};
        },
        1000);
    make.add(kLerp, "F32, w a row", shape, {}, [=](Graph& g, Dim t) {
      return std::vector{floats(g, "a", {t, d}), floats(g, "b", {t, d}), g.weight("w", {f32, {d}})};
    });
    make.add(kLerp, "F32, five ways", shape, {}, [=](Graph& g, Dim t) {
      return std::vector{floats(g, "a", {t, 1, d}), floats(g, "b", {t, 1, d}),
                         floats(g, "w", {t, 5, d})};
    });
  }
}

void add_heads(Maker& make) {
  for (const std::int64_t e : {1, 24, 64}) {
    const std::string shape = fmt::format("4 x {}", e);
    const auto heads = [=](Graph& g, Dim t) { return floats(g, "a", {t, 4, e}); };
    make.add(kRepeatHeads, "F32", shape, RepeatHeadsAttrs{12},
             [=](Graph& g, Dim t) { return std::vector{heads(g, t)}; });
    make.add(kDotHeads, "F32", shape, {}, [=](Graph& g, Dim t) {
      return std::vector{heads(g, t), floats(g, "b", {t, 4, e})};
    });
    make.add(kScaleHeads, "F32", shape, {}, [=](Graph& g, Dim t) {
      return std::vector{heads(g, t), floats(g, "b", {t, 4})};
    });
    make.add(kConcatHeads, "F32", shape, {}, [=](Graph& g, Dim t) {
      return std::vector{heads(g, t), floats(g, "b", {t, 1, 7})};
    });
    make.add(kHadamard, "F32", shape, {},
             [=](Graph& g, Dim t) { return std::vector{heads(g, t)}; });
    make.add(kPadHeads, "F32", shape, PadHeadsAttrs{e + 8},
             [=](Graph& g, Dim t) { return std::vector{heads(g, t)}; });
    make.add(kSliceHeads, "F32", shape, SliceHeadsAttrs{e / 3, e},
             [=](Graph& g, Dim t) { return std::vector{heads(g, t)}; });
    make.add(kHeadLinear, "F32", shape, {}, [=](Graph& g, Dim t) {
      return std::vector{heads(g, t), g.weight("w", {f32, {4, 20, e}})};
    });
  }
}

void add_routing(Maker& make) {
  make.add(kTopK, "F32, a bias", "60, groups", TopKAttrs{.k = 6, .n_groups = 5, .used_groups = 2},
           [](Graph& g, Dim t) {
             return std::vector{floats(g, "x", {t, 60}), g.weight("bias", {f32, {60}})};
           });
  make.add(
      kGather, "F32", "60", {},
      [](Graph& g, Dim t) {
        return std::vector{floats(g, "x", {t, 60}), ids(g, "ids", {t, 8})};
      },
      60);
  make.add(kStreamWeights, "F32", "24", StreamWeightsAttrs{.n = 4, .iterations = 4},
           [](Graph& g, Dim t) {
             return std::vector{floats(g, "x", {t, 24}), g.weight("scale", {f32, {3}}),
                                g.weight("base", {f32, {24}})};
           });
  make.add(kWeightedSum, "F32", "6 x 200", {}, [](Graph& g, Dim t) {
    return std::vector{floats(g, "x", {t, 6, 200}), floats(g, "w", {t, 6})};
  });
  make.add(
      kKeepRows, "F32", "40", {},
      [](Graph& g, Dim t) {
        return std::vector{g.state("state", {f32, {50, 40}}), floats(g, "x", {t, 40}),
                           ids(g, "cells", {t})};
      },
      50);
}

void add_ids(Maker& make) {
  const auto one = [](Graph& g, Dim t) { return std::vector{ids(g, "a", {t})}; };
  const auto two = [](Graph& g, Dim t) { return std::vector{ids(g, "a", {t}), ids(g, "b", {t})}; };
  const auto table = [](Graph& g, Dim t) { return std::vector{ids(g, "a", {t, 5})}; };
  make.add(kIdsToFloats, "I32", "3", IdsToFloatsAttrs{3}, one, 1000);
  make.add(kDivideIds, "I32", "5", DivideIdsAttrs{7}, table, 1000);
  make.add(kNegateIds, "I32", "1", {}, one, 1000);
  make.add(kRemainderIds, "I32", "5", RemainderIdsAttrs{7}, table, 1000);
  make.add(
      kGetIds, "F32", "60 x 6", GetIdsAttrs{1},
      [](Graph& g, Dim t) {
        return std::vector{g.weight("table", {f32, {60, 6}}), ids(g, "ids", {t})};
      },
      60);
  make.add(kReplaceId, "I32", "1", ReplaceIdAttrs{3, 77}, two, 5);
  make.add(kShiftPositions, "I32", "1", ShiftAttrs{-20, 16}, two, 200);
  make.add(kRoundToIds, "F32", "9", RoundToIdsAttrs{50}, [](Graph& g, Dim t) {
    return std::vector{floats(g, "x", {t, 9})};
  });
}

// The table and the runs of two sequences of three blocks.
constexpr std::int64_t kBlocks = 3, kCells = kBlocks * kCellsPerBlock;

void add_runs(Graph& g, Dim t, std::vector<Tensor>& inputs) {
  inputs.push_back(ids(g, "table", {2, kBlocks}));
  for (const char* name : {"table_row", "first", "last"}) inputs.push_back(ids(g, name, {t}));
}

void add_indexers(Maker& make) {
  for (const DType c : cache_types()) {
    const std::string type(c.name());
    const TensorSpec keys{c, cache_shape(2 * kCells, 1, 32)};
    make.add(
        kChoosePositions, type + ", weights", "5 x 32 over 192", ChoosePositionsAttrs{.k = 20},
        [=](Graph& g, Dim t) {
          std::vector<Tensor> in{floats(g, "q", {t, 5, 32}), g.state("k", keys)};
          add_runs(g, t, in);
          in.push_back(floats(g, "w", {t, 5}));
          return in;
        },
        kCells);
    make.add(
        kChoosePositions, type, "2 x 32 over 192, spans",
        ChoosePositionsAttrs{.k = 5, .span = 10, .always = 1},
        [=](Graph& g, Dim t) {
          std::vector<Tensor> in{floats(g, "q", {t, 2, 32}), g.state("k", keys)};
          add_runs(g, t, in);
          in.push_back({});
          return in;
        },
        kCells);
    for (const std::int32_t span : {1, 64}) {
      make.add(
          kChosenAttention, type, fmt::format("6 x 32 over 192, spans of {}", span),
          ChosenAttentionAttrs{.scale = 0.18f, .span = span},
          [=](Graph& g, Dim t) {
            std::vector<Tensor> in{floats(g, "q", {t, 6, 32}), g.state("k", keys),
                                   g.state("v", keys)};
            add_runs(g, t, in);
            in.push_back(ids(g, "chosen", {t, 2, 7}));
            in.push_back(g.weight("sinks", {f32, {6}}));
            return in;
          },
          kCells);
    }
  }
}

// Both runs have the same table and positions.
void add_joined_attention(Maker& make) {
  for (const DType c : cache_types()) {
    const TensorSpec cells{c, cache_shape(2 * kCells, 1, 32)};
    for (const bool chooses : {false, true}) {
      make.add(
          kJoinedAttention, std::string(c.name()) + (chooses ? ", chosen" : ""),
          "6 x 32 over 2 x 192", JoinedAttentionAttrs{.scale = 0.18f, .window = kCells},
          [=](Graph& g, Dim t) {
            std::vector<Tensor> in{floats(g, "q", {t, 6, 32}), g.state("k", cells)};
            add_runs(g, t, in);
            in.insert(in.end(), {g.state("k2", cells), in[2], in[4], in[5]});
            in.push_back(chooses ? ids(g, "chosen", {t, 1, 7}) : Tensor());
            in.push_back(g.weight("sinks", {f32, {6}}));
            return in;
          },
          kCells);
    }
  }
}

void add_biased_attention(Maker& make) {
  const TensorSpec cache{f16, cache_shape(2 * kCells, 2, 32)};
  make.add(
      kBiasedAttention, "F16", "6 x 32 over 192",
      BiasedAttentionAttrs{.scale = 0.18f, .softcap = 20, .alibi = 8},
      [=](Graph& g, Dim t) {
        std::vector<Tensor> in{floats(g, "q", {t, 6, 32}), g.state("k", cache),
                               g.state("v", cache)};
        add_runs(g, t, in);
        in.push_back(ids(g, "pos", {t}));
        in.push_back(g.weight("sinks", {f32, {6}}));
        in.push_back(g.weight("distances", {f32, {41, 6}}));
        return in;
      },
      kCells);
}

}  // namespace

void add_op_cases(std::vector<Case>& cases) {
  for (const std::int64_t t : {1, 7, 33}) {
    Maker make(cases, t);
    add_elements(make);
    add_heads(make);
    add_routing(make);
    add_ids(make);
    add_indexers(make);
    add_joined_attention(make);
    add_biased_attention(make);
  }
  Maker(cases, 1).add(kBucketDistances, "F32", "32 x 6", BucketAttrs{.both_ways = true},
                      [](Graph& g, Dim) {
                        return std::vector{g.weight("w", {f32, {32, 6}})};
                      });
}

}  // namespace weft::conform
