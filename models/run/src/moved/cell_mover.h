#pragma once
// Takes cells of one state to other places, where their tokens have other positions.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "weft/graph/graph.h"

#include "memory/cell_rotations.h"
#include "memory/state_store.h"

namespace weft::run {

class CellMover {
 public:
  // All outlive it. REQUIRES: the state is in host memory.
  CellMover(const StateStore::State& state, const Graph& graph, const CellRotations& all,
            std::function<const std::byte*(const Node&)> weights);

  // From now on, cells move by so many positions.
  void set_distance(std::int32_t by);
  // Copies a cell, with what depends on its position rotated. May be to its own place.
  void move(std::int32_t from, std::int32_t to);

 private:
  void turn();

  const View view_;
  const std::span<const CellRotation> rotations_;
  const Graph& graph_;
  const std::function<const std::byte*(const Node&)> weights_;
  const Node* turn_ = nullptr;          // null: cells are not turned
  std::vector<std::vector<float>> by_;  // by rotation
  std::vector<float> head_;
};

}  // namespace weft::run
