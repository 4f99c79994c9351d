#pragma once
// The oneTBB flow graph that brings workers to a crew: one continue_node per worker but the caller,
// whose body is that worker's stay. A message to a node calls the worker; see crew.h for what it
// does when it comes, and what happens where it does not.

#include <memory>
#include <vector>

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/task_arena.h>

#include "crew.h"

namespace weft {

class Flow {
 public:
  Flow(oneapi::tbb::task_arena& arena, Crew& crew, int workers);
  ~Flow();  // closes the crew and waits for its workers
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  void call(int w);

 private:
  using Node = oneapi::tbb::flow::continue_node<oneapi::tbb::flow::continue_msg>;

  oneapi::tbb::task_arena& arena_;
  Crew& crew_;
  std::unique_ptr<oneapi::tbb::flow::graph> graph_;
  std::vector<std::unique_ptr<Node>> nodes_;  // of workers 1 and up
};

}  // namespace weft
