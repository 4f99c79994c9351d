#include "flow.h"

#include "workers_impl.h"

#if defined(WEFT_TELL_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace weft {
namespace {

// ThreadSanitizer cannot see the order that a join establishes (see CMakeLists.txt) and is told
// here. Within a stage nothing is told, so lanes that race are found.
void left(void* mark [[maybe_unused]]) {
#if defined(WEFT_TELL_TSAN)
  __tsan_release(mark);
#endif
}
void entered(void* mark [[maybe_unused]]) {
#if defined(WEFT_TELL_TSAN)
  __tsan_acquire(mark);
#endif
}

}  // namespace

namespace flow = oneapi::tbb::flow;

Flow::Flow(Workers& workers, int stages, int lanes, const std::function<bool(int, int)>& has_work,
           Body body)
    : workers_(workers), body_(std::move(body)), joins_(static_cast<std::size_t>(stages) + 1) {
  workers_.impl().arena.execute([&] {
    graph_ = std::make_unique<flow::graph>();  // remembers the arena it is made in
    std::size_t before = 0, now = 0;
    for (int stage = 0; stage < stages; ++stage) {
      for (int lane = 0; lane < lanes; ++lane) {
        if (!has_work(stage, lane)) continue;
        nodes_.push_back(
            std::make_unique<Node>(*graph_, [this, stage, lane](const flow::continue_msg&) {
              entered(&joins_[static_cast<std::size_t>(stage)]);
              body_(stage, lane);
              left(&joins_[static_cast<std::size_t>(stage) + 1]);
            }));
        for (std::size_t i = before; i < now; ++i) flow::make_edge(*nodes_[i], *nodes_.back());
      }
      if (nodes_.size() == now) continue;
      if (now == 0) first_stage_nodes_ = nodes_.size();
      before = now;
      now = nodes_.size();
    }
  });
}

Flow::~Flow() {
  workers_.impl().arena.execute([&] {
    graph_->wait_for_all();
    nodes_.clear();
    graph_.reset();
  });
}

void Flow::run() {
  left(&joins_.front());
  workers_.impl().arena.execute([&] {
    for (std::size_t i = 0; i < first_stage_nodes_; ++i) nodes_[i]->try_put(flow::continue_msg());
    graph_->wait_for_all();
  });
  entered(&joins_.back());
}

}  // namespace weft
