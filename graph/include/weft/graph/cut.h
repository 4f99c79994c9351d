#pragma once
// How a tensor is cut into parts, each of which another member of a group computes, and what an op
// says about that. The pass that divides graphs is in scheduler/shard.h.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weft/graph/attrs.h"
#include "weft/graph/node_id.h"

namespace weft {

struct TensorSpec;

// Part p has [begin(p), end(p)) of dimension `axis`, or, if the tensor [T, K, N] is cut by experts,
// the rows [t, k] whose expert ids[t, k] is one of [begin(p), end(p)): its other rows hold
// anything. No ends: every part has all of it.
struct Cut {
  int axis = -1;                   // below 0: whole, or by experts
  std::vector<std::int64_t> ends;  // by part; the last one is the whole extent
  NodeId ids = kNoNode;            // the ids that choose the experts; kNoNode: not by experts

  bool whole() const { return ends.empty(); }
  bool by_experts() const { return ids != kNoNode; }
  std::int64_t begin(int part) const {
    return part > 0 ? ends[static_cast<std::size_t>(part) - 1] : 0;
  }
  std::int64_t end(int part) const { return ends[static_cast<std::size_t>(part)]; }
  std::int64_t width(int part) const { return end(part) - begin(part); }
  friend bool operator==(const Cut&, const Cut&) = default;

  // The same places in another dimension.
  Cut moved(int to_axis) const { return {.axis = to_axis, .ends = ends}; }
  // The same cut of another dimension, which is `times` / `over` as long. None: it does not fall
  // between elements.
  std::optional<Cut> scaled(int to_axis, std::int64_t times, std::int64_t over) const;
};

// One for each input of the node, absent ones included; none: the op cannot be computed in such
// parts.
using Cuts = std::optional<std::vector<Cut>>;

// In which of its inputs an op is linear: f(x_0, ..) + f(x_1, ..) + .. = f(x_0 + x_1 + .., ..) if
// the other inputs are the same in all terms.
enum class LinearIn : std::uint8_t {
  none,
  first,  // input 0
  all,    // all inputs together: a sum of its inputs
};

// What an op says about the parts in which it can be computed. An op that says nothing, and whose
// inputs are not all Reach::same, is computed whole for every part, and loading warns about it. All
// functions may be called from any thread, and must not throw.
struct OpCuts {
  // The cuts of the inputs that a cut of the output needs: the same op with these parts gives that
  // part. Cuts by experts come only to ops that have an input with OpInput::chosen_by; other ops
  // compute the rows [t, k] of the output of their own accord if they can be cut anywhere in
  // dimension 1. REQUIRES: `cut` is one of the output. Null: elementwise if all inputs are
  // Reach::same, else none.
  Cuts (*inputs)(const Attrs&, std::span<const TensorSpec> in, const TensorSpec& out,
                 const Cut& cut) = nullptr;
  // The cuts of all inputs, of which `cut` is that of input 0, with which the sum of the op over
  // all parts gives its output: inputs with InputUse::matrix are cut, those with InputUse::addend
  // belong to one part. Null: none.
  Cuts (*terms)(const Attrs&, std::span<const TensorSpec> in, const TensorSpec& out,
                const Cut& cut) = nullptr;
  // The attributes of the node that computes a part, or its term of a sum: `cut` is that of the
  // output, or for a term of input 0. Null: those of the whole node.
  Attrs (*attrs)(const Attrs&, const Cut& cut, int part) = nullptr;
  LinearIn linear = LinearIn::none;
  // Output [T, H, E] of H heads, each of which is worth computing on its own, with input 1, [B, G,
  // ..], in as many groups or in one: a number of parts that does not divide H and G is an error of
  // the user, and a node that cannot be cut is named like one that says nothing.
  bool by_heads = false;
  // It is computed whole by intention, because all need it or it is little work: no line about it.
  bool whole = false;
};

}  // namespace weft
