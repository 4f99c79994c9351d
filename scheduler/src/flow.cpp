#include "flow.h"

#if defined(WEFT_TELL_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace weft {
namespace {

// ThreadSanitizer cannot see that a message comes after what its sender did before, nor that
// wait_for_all() comes after all bodies (see CMakeLists.txt), and is told here. Nothing is told of
// what happens within a run.
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

Flow::Flow(oneapi::tbb::task_arena& arena, Crew& crew, int workers) : arena_(arena), crew_(crew) {
  arena_.execute([&] {
    graph_ = std::make_unique<flow::graph>();  // remembers the arena it is made in
    for (int w = 1; w < workers; ++w) {
      nodes_.push_back(std::make_unique<Node>(*graph_, [this, w](const flow::continue_msg&) {
        entered(this);
        crew_.serve(w);
        left(this);
      }));
    }
  });
}

Flow::~Flow() {
  crew_.close();
  arena_.execute([&] {
    graph_->wait_for_all();
    nodes_.clear();
    graph_.reset();
  });
  entered(this);
}

// From within the arena: a message from outside would go through a queue that allocates.
void Flow::call(int w) {
  left(this);
  arena_.execute([&] { nodes_[static_cast<std::size_t>(w - 1)]->try_put(flow::continue_msg()); });
}

}  // namespace weft
