// How long a run takes, roughly: in every stage as long as its slowest lane, and a join between two
// stages.

#include <algorithm>

#include "draft.h"

namespace weft {
namespace {

// What part of a node's time one lane spends on it.
double part_of(const Draft& draft, NodeId id, int lane) {
  const lanes::Share& share = draft[id].share;
  switch (share.split) {
    case Split::one:
      return share.lane == lane ? 1 : 0;
    case Split::copies:
      return 1 + kCopyBurden * (draft.lanes - 1);
    case Split::rows: {
      const Work& work = draft[id];
      return work.ns > 0 ? (1 + work.shared_ns / work.ns * (draft.lanes - 1)) / draft.lanes : 0;
    }
    case Split::cols:
      break;
  }
  return static_cast<double>(lanes::width(share.cols[static_cast<std::size_t>(lane)])) /
         static_cast<double>(draft.graph[id].spec.shape.cols());
}

}  // namespace

double predict_ns(const Draft& draft) {
  std::vector<std::vector<double>> busy;  // by stage and lane
  for (NodeId id = 0; id < draft.graph.size(); ++id) {
    const Work& work = draft[id];
    if (!work.works) continue;
    if (std::ssize(busy) <= work.stage) {
      busy.resize(static_cast<std::size_t>(work.stage) + 1,
                  std::vector<double>(static_cast<std::size_t>(draft.lanes)));
    }
    for (int lane = 0; lane < draft.lanes; ++lane) {
      if (const double part = part_of(draft, id, lane); part > 0) {
        busy[static_cast<std::size_t>(work.stage)][static_cast<std::size_t>(lane)] +=
            part * work.ns + kCallNs;
      }
    }
  }
  double ns = busy.empty() ? 0 : kJoinNs * static_cast<double>(busy.size() - 1);
  for (const auto& lanes : busy) ns += *std::max_element(lanes.begin(), lanes.end());
  return draft.lanes > 1 ? ns + kJoinNs : ns;  // the last one is at the end of the run
}

double predict_alone_ns(const Draft& draft) {
  double ns = 0;
  for (const Work& work : draft.works) {
    if (work.works) ns += work.ns + kCallNs;
  }
  return ns;
}

}  // namespace weft
