// Predicts roughly how long a run takes: the sum of the slowest lane of every stage, plus a join
// between two stages.

#include <algorithm>

#include "plan/sketch.h"

namespace weft::scheduler {
double part_of_lane(const Node& node, const Work& work, int lanes, int lane) {
  switch (work.share.split) {
    case Split::one:
      return work.share.lane == lane ? 1 : 0;
    case Split::copies:
      return 1 + kCopyOverhead * (lanes - 1);
    case Split::rows:
      return work.ns > 0 ? (1 + work.shared_ns / work.ns * (lanes - 1)) / lanes : 0;
    case Split::cols:
      break;
  }
  return static_cast<double>(lanes::width(work.share.cols[static_cast<std::size_t>(lane)])) /
         static_cast<double>(node.spec.shape.cols());
}

double predict_ns(const Sketch& sketch) {
  std::vector<std::vector<double>> busy;  // by stage and lane
  for (NodeId id = 0; id < sketch.graph.size(); ++id) {
    const Work& work = sketch[id];
    if (!work.works) continue;
    if (std::ssize(busy) <= work.stage) {
      busy.resize(static_cast<std::size_t>(work.stage) + 1,
                  std::vector<double>(static_cast<std::size_t>(sketch.lanes)));
    }
    for (int lane = 0; lane < sketch.lanes; ++lane) {
      if (const double part = part_of_lane(sketch.graph[id], work, sketch.lanes, lane); part > 0) {
        busy[static_cast<std::size_t>(work.stage)][static_cast<std::size_t>(lane)] +=
            part * work.ns + kCallNs;
      }
    }
  }
  double ns = 0;
  for (const auto& lanes : busy) ns += *std::max_element(lanes.begin(), lanes.end());
  // One between two stages, and one at the end of the run.
  return sketch.lanes > 1
             ? ns + kJoinNs * static_cast<double>(std::max<std::size_t>(busy.size(), 1))
             : ns;
}

double predict_alone_ns(const Sketch& sketch) {
  double ns = 0;
  for (const Work& work : sketch.works) {
    if (work.works) ns += work.ns + kCallNs;
  }
  return ns;
}

}  // namespace weft::scheduler
