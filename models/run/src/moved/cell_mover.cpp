#include "moved/cell_mover.h"

#include <cstring>
#include <utility>

#include "weft/graph/view.h"
#include "weft/ops/attention/cache_cells.h"
#include "weft/ops/formats/format.h"

namespace weft::run {

CellMover::CellMover(const StateStore::State& state, const Graph& graph, const CellRotations& all,
                     std::function<const std::byte*(const Node&)> weights)
    : view_(bounds_view(state.spec, state.host)),
      rotations_(all.of_state.at(state.path)),
      graph_(graph),
      weights_(std::move(weights)),
      by_(rotations_.size()),
      head_(static_cast<std::size_t>(view_.dim(-1))) {
  const auto turn = all.turn_of_state.find(state.path);
  if (turn != all.turn_of_state.end()) turn_ = &graph[turn->second];
}

void CellMover::set_distance(std::int32_t by) {
  for (std::size_t i = 0; i < by_.size(); ++i)
    by_[i] = angles_of(graph_, rotations_[i], by, weights_);
}

void CellMover::move(std::int32_t from, std::int32_t to) {
  const std::int64_t E = view_.dim(-1);
  const Format& format = *find_format(view_.dtype);
  for (std::int64_t group = 0; group < view_.dim(1); ++group) {
    const std::byte* const old = cell_at(view_, from, group);
    std::byte* const moved = cell_at(view_, to, group);
    if (rotations_.empty()) {
      if (old != moved) std::memcpy(moved, old, static_cast<std::size_t>(view_.dtype.bytes(E)));
      continue;
    }
    format.decode(old, head_.data(), E);
    turn();
    for (std::size_t i = 0; i < by_.size(); ++i) rotate(rotations_[i], by_[i], head_.data());
    turn();
    format.encode(head_.data(), moved, E);
  }
}

void CellMover::turn() {
  if (!turn_) return;
  const View head =
      bounds_view({f32, {1, 1, view_.dim(-1)}}, reinterpret_cast<std::byte*>(head_.data()));
  turn_->op->reference(turn_->attrs, {&head, 1}, head);
}

}  // namespace weft::run
