#include "merger.h"

#include <algorithm>

namespace weft::tokenize {
namespace {

constexpr TokenId kGone = -2;  // merged into its left neighbour

}  // namespace

void Merger::add(TokenId id) {
  const auto i = static_cast<std::int32_t>(symbols_.size());
  symbols_.push_back({i - 1, i + 1, id});
}

void Merger::propose(std::int32_t left) {
  if (left < 0 || at(left).next < 0) return;
  const TokenId a = at(left).id;
  const TokenId b = at(at(left).next).id;
  const MergeTable::Merge merge = merges_.find(a, b);
  if (merge.rank < 0) return;
  heap_.push_back({merge.rank, left, a, b, merge.joint});
  std::push_heap(heap_.begin(), heap_.end());
}

void Merger::join_all() {
  symbols_.back().next = -1;
  heap_.clear();
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(symbols_.size()); ++i) propose(i);
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    const Join join = heap_.back();
    heap_.pop_back();
    Symbol& left = at(join.left);
    if (left.id != join.left_id || left.next < 0 || at(left.next).id != join.right_id) continue;
    Symbol& right = at(left.next);
    left.id = join.joint;
    right.id = kGone;
    left.next = right.next;
    if (right.next >= 0) at(right.next).previous = join.left;
    propose(left.previous);
    propose(join.left);
  }
}

}  // namespace weft::tokenize
