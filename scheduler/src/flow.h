#pragma once
// The oneTBB flow graph of a plan: one continue_node per stage and lane that has work, every node
// of a stage after all nodes of the stage before. Built once, then set off for every step.

#include <functional>
#include <memory>
#include <vector>

#include <oneapi/tbb/flow_graph.h>

#include "weft/scheduler/workers.h"

namespace weft {

class Flow {
 public:
  using Body = std::function<void(int stage, int lane)>;  // does not throw

  // `has_work(stage, lane)` is asked while building only.
  Flow(Workers& workers, int stages, int lanes, const std::function<bool(int, int)>& has_work,
       Body body);
  ~Flow();
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  // Runs every body once, in order of stages; returns when all are done. The calling thread takes
  // part.
  void run();

 private:
  using Node = oneapi::tbb::flow::continue_node<oneapi::tbb::flow::continue_msg>;

  Workers& workers_;
  Body body_;
  std::unique_ptr<oneapi::tbb::flow::graph> graph_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::size_t first_stage_nodes_ = 0;
  std::vector<char> joins_;  // one address per stage border, see flow.cpp
};

}  // namespace weft
