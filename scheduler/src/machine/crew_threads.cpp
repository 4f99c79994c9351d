#include "machine/crew_threads.h"

#include <vector>

#include <oneapi/tbb/flow_graph.h>

#include "machine/tell_tsan.h"

namespace weft::scheduler {

namespace flow = oneapi::tbb::flow;

struct CrewThreads::Graph {
  using Node = flow::continue_node<flow::continue_msg>;

  flow::graph graph;                         // bound to the arena in which it is constructed
  std::vector<std::unique_ptr<Node>> nodes;  // for workers 1 and up
};

CrewThreads::CrewThreads(oneapi::tbb::task_arena& arena, Crew& crew, int workers)
    : arena_(arena), crew_(crew) {
  arena_.execute([&] {
    graph_ = std::make_unique<Graph>();
    for (int w = 1; w < workers; ++w) {
      graph_->nodes.push_back(
          std::make_unique<Graph::Node>(graph_->graph, [this, w](const flow::continue_msg&) {
            tsan_acquire(this);
            crew_.serve(w);
            tsan_release(this);
          }));
    }
  });
}

CrewThreads::~CrewThreads() {
  crew_.close();
  arena_.execute([&] {
    graph_->graph.wait_for_all();
    graph_.reset();
  });
  tsan_acquire(this);
}

// Must run within the arena: a message from outside would go through a queue that allocates.
void CrewThreads::call(int w) {
  tsan_release(this);
  arena_.execute(
      [&] { graph_->nodes[static_cast<std::size_t>(w - 1)]->try_put(flow::continue_msg()); });
}

}  // namespace weft::scheduler
