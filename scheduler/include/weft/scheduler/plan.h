#pragma once
// A plan: the compiled schedule of one graph for one width class. A value: it can be printed,
// compared, hashed and written as JSON. It holds no pointers into memory and needs no weights, so
// it can be made from a file's header.
//
// Terms: a *step* is one op node with its kernel. A *lane* is the work of one worker between two
// joins. A *stage* is the steps between two joins; lanes do not wait for each other within a stage.
// A *share* is a part of a lane that any worker may take. The *arena* is the activation buffer.

#include <cstdint>
#include <string>
#include <vector>

#include "weft/backends/backend.h"
#include "weft/graph/graph.h"
#include "weft/graph/memory_id.h"
#include "weft/graph/per_node.h"

namespace weft {

// How a node's work is divided among the lanes.
enum class Split : std::uint8_t {
  one,     // one lane computes it
  copies,  // every lane computes all of it, into its own memory: cheaper than a join
  cols,    // every lane computes some columns (heads, features)
  rows,    // every lane computes some rows (tokens), divided by the step's actual extent
};
std::string_view to_string(Split split);

struct PlanStep {
  NodeId node = kNoNode;
  std::string path, op;
  std::string backend, kernel;  // Kernel::row
  std::string instead_of;       // the backend that lacks a kernel for the node, if the node is
                                // therefore computed by its definition; otherwise empty
  Split split = Split::one;
  std::vector<std::vector<ColRange>> cols;   // Split::cols: per lane; a lane may have none
  std::vector<std::vector<ColRange>> parts;  // Split::cols, if the stage has several shares per
                                             // lane: per share, lane by lane
  std::int32_t lane = 0;                     // Split::one: the lane that computes it
  std::int32_t stage = 0;
  Cost cost;  // at the bounds
  friend bool operator==(const PlanStep&, const PlanStep&);
};

// Who runs the stages of a plan (src/replay/replay.h).
enum class ReplayKind : std::uint8_t {
  alone,  // the calling thread
  crew,   // workers that spin at a join and claim work
  flow,   // a oneTBB flow graph whose nodes are the pieces of the plan (pieces.h)
};
std::string_view to_string(ReplayKind kind);

enum class Place : std::uint8_t { arena, weight, state, view };
std::string_view to_string(Place place);

// Where a node's output is stored. Inputs and outputs of the graph are in the arena during the
// whole plan.
struct Placement {
  Place place = Place::arena;
  NodeId root = kNoNode;  // the node that owns the memory: the source of a view, the state that a
                          // state writer writes, otherwise the node itself
  // Arena: byte offset of the first copy. View: bytes from the start of a row of the root.
  std::int64_t offset = 0;
  std::int64_t bytes = 0;            // size of one copy, at the bounds
  std::int32_t copies = 1;           // Split::copies: one per lane, `align_up(bytes)` apart
  MemoryId memory = MemoryId::host;  // for weights, see weight_in
  MemorySet weight_in;               // weights: the memories whose nodes read it
  std::int32_t first_stage = 0, last_stage = 0;  // live in these stages, inclusive
  NodeId in_place_over = kNoNode;                // shares the memory of this node
  friend bool operator==(const Placement&, const Placement&) = default;
};

// A device that a plan uses in addition to the host.
struct PlanDevice {
  std::string backend;
  std::int64_t arena_bytes = 0, arena_lower_bound = 0, scratch_bytes = 0;
  std::int64_t weight_bytes = 0, state_bytes = 0;
  std::int64_t bytes_in = 0, bytes_out = 0;  // copied to and from it in one run, at the bounds
  friend bool operator==(const PlanDevice&, const PlanDevice&) = default;
};

struct Plan {
  std::string name;  // "decode", "prefill 64"
  std::int32_t lanes = 1;
  std::vector<Variable> variables;  // with the bounds of this width class
  std::vector<PlanStep> steps;
  PerNode<Placement> placements;
  std::int32_t stages = 0;
  std::vector<std::int32_t> shares;  // by stage: the number of shares of each lane

  // By device_index(); empty if everything is computed in host memory.
  std::vector<PlanDevice> devices;

  // The time of one run at the bounds, estimated from rough rates of a core: good enough to choose
  // between plans.
  std::int64_t predicted_ns = 0;

  // Who runs it, and why. Not part of to_json() and hash(), because results do not depend on it.
  ReplayKind replay = ReplayKind::alone;
  std::string replay_reason;

  std::int64_t arena_bytes = 0;
  std::int64_t arena_lower_bound = 0;  // max of live bytes in a stage: no packing can need less
  std::string arena_heuristic;         // the heuristic whose packing was kept
  std::int64_t scratch_bytes = 0;      // all lanes
  std::int64_t weight_bytes = 0;
  std::int64_t state_bytes = 0;

  std::int32_t shares_in(std::int32_t stage) const {
    return stage < std::ssize(shares) ? shares[static_cast<std::size_t>(stage)] : 1;
  }
  std::int64_t arena_of(MemoryId memory) const {
    return is_device(memory) ? devices.at(device_index(memory)).arena_bytes : arena_bytes;
  }
  PerNode<const PlanStep*> steps_by_node() const;  // null for nodes without a step
  // A single lane waits for nobody between its stages.
  std::int32_t joins() const { return lanes > 1 && stages > 0 ? stages - 1 : 0; }
  std::int64_t calls() const;  // kernel calls of one run, all lanes together
  Cost cost() const;           // the cost of one run at the bounds
  std::string to_json() const;
  std::string to_text() const;  // readable: totals, then a line per step
  std::uint64_t hash() const;   // hash of to_json()
  friend bool operator==(const Plan&, const Plan&);
};

}  // namespace weft
