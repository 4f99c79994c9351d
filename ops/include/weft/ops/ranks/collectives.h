#pragma once
// What ranks exchange, if a model runs on several of them. A node of every rank that takes part
// stands for the same exchange; the nodes of a rank are ordered by their input `after`, so that all
// ranks exchange in the same order. x_r is the value of x on rank r.
//
//   all_reduce   y = x_first + x_first+1 + .., in f32 and in this order    x, y [T, D] f32
//   all_gather   y[t, :] = x_first[t, :], x_first+1[t, :], ..    x_r [T, D_r] f32, y [T, D] f32
//   broadcast    y = x_first                                     x, y [T, D] f32
//   send         y = 0; x goes to rank `peer`                    x [T, D] f32, y [1] f32
//   recv         y = x of rank `peer`                            y [T, D] f32
//   after, optional: the result of the previous exchange, which is not read
//
// Shoeybi et al. 2019, arXiv:1909.08053, is about where a transformer needs them.

#include <cstdint>
#include <string_view>
#include <tuple>

#include "weft/graph/graph.h"

namespace weft {

// The ranks first .. first + ranks - 1 take part.
struct GroupAttrs {
  std::int32_t first = 0, ranks = 1;
  std::int32_t index = 0;  // counts the exchanges of the group
  std::int64_t cols = 0;   // D, of y
  static constexpr auto fields() {
    return std::tuple{field("first", &GroupAttrs::first), field("ranks", &GroupAttrs::ranks),
                      field("index", &GroupAttrs::index), field("cols", &GroupAttrs::cols)};
  }
};

struct PeerAttrs {
  std::int32_t peer = 0;
  std::int32_t index = 0;  // counts the exchanges of the two ranks
  std::int64_t cols = 0;   // D
  // It carries results of the model: skipped in steps that nobody wants results of, y is then
  // undefined.
  bool result = false;
  static constexpr auto fields() {
    return std::tuple{field("peer", &PeerAttrs::peer), field("index", &PeerAttrs::index),
                      field("cols", &PeerAttrs::cols), field("result", &PeerAttrs::result)};
  }
};

extern const OpDef kAllReduce;  // inputs: x, after?
extern const OpDef kAllGather;  // likewise
extern const OpDef kBroadcast;  // likewise
extern const OpDef kSend;       // likewise
extern const OpDef kRecv;       // inputs: rows, after?; y has as many rows as `rows` [T, ..]

}  // namespace weft
