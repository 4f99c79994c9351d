#pragma once
// The texts of an engine that wait for a slot, in the order in which they may start.

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/engine_request.h"

namespace weft::serve {

// Owned by the engine's thread. Invariants: no text is null, and they are sorted: higher priorities
// first, then older requests; the texts of a request by index. A text that returns from a slot gets
// the place that it had.
class EngineQueue {
 public:
  using TextPtr = std::unique_ptr<EngineText>;

  // Whether `a` starts before `b`.
  static bool is_before(const EngineText& a, const EngineText& b);

  bool empty() const { return texts_.empty(); }
  std::size_t size() const { return texts_.size(); }
  EngineText& operator[](std::size_t i) { return *texts_[i]; }

  void add_texts_of(const std::shared_ptr<EngineRequest>& request);
  void insert(TextPtr text);
  TextPtr remove(std::size_t i);
  std::vector<TextPtr> remove_cancelled();
  std::size_t drop_texts_of(const EngineRequest& request);  // returns their number
  void clear() { texts_.clear(); }

 private:
  std::vector<TextPtr> texts_;
};

}  // namespace weft::serve
