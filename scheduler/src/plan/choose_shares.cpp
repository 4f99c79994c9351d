// Chooses stages with more shares than lanes, so that a worker on a slow core does not delay the
// others: it just takes fewer shares. Only if the shares of a stage do not depend on each other,
// and each is enough work to be worth claiming.

#include <algorithm>

#include "machine/replay_job.h"
#include "plan/shares.h"
#include "plan/sketch.h"

namespace weft::scheduler {
namespace {

using lanes::Cols;

constexpr int kDefaultShares = 4;  // per lane: with two lanes a share is an eighth of a stage

// Divides one lane's columns into `n` parts with about the same number of steps.
std::vector<Cols> cut_lane(const Cols& cols, std::int64_t step, int n) {
  std::int64_t blocks = 0;
  for (const ColRange& r : cols) blocks += (r.end - r.begin + step - 1) / step;
  std::vector<Cols> out(static_cast<std::size_t>(n));
  std::int64_t before = 0;  // blocks of the ranges before
  for (const ColRange& r : cols) {
    const std::int64_t here = (r.end - r.begin + step - 1) / step;
    for (int part = 0; part < n; ++part) {
      const auto at = [&](int p) {
        const std::int64_t block =
            std::clamp<std::int64_t>(lanes::row_cut(blocks, p, n) - before, 0, here);
        return std::min(r.end, r.begin + block * step);
      };
      if (at(part) < at(part + 1))
        out[static_cast<std::size_t>(part)].push_back({at(part), at(part + 1)});
    }
    before += here;
  }
  return out;
}

struct StageCut {
  const Sketch& sketch;
  std::vector<NodeId> steps;
  int shares;
  lanes::Cuts cuts;

  int parts() const { return sketch.lanes * shares; }

  // Divides `range` of lane `lane` by the needs of its readers within the stage, if these
  // partition it.
  bool split_like_readers(NodeId id, int lane, const Cols& own, std::int64_t granule,
                          std::vector<Cols>& out) const {
    for (const NodeId user : sketch.users[id]) {
      const auto cut = cuts.find(user);
      if (cut == cuts.end() || cut->second.split != Split::cols) continue;
      const Node& node = sketch.graph[user];
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (!lanes::reads(sketch.graph, node, i, id)) continue;
        std::vector<Cols> needs;
        std::int64_t width = 0;
        bool fits = true;
        for (int k = 0; k < shares; ++k) {
          const Cols all = lanes::need(sketch.graph, node, i, cut->second, lane * shares + k).cols;
          Cols part;
          for (const ColRange& r : own) {
            for (const ColRange& p : lanes::within(all, r)) {
              fits &= (p.begin % granule == 0 || p.begin == r.begin) &&
                      (p.end % granule == 0 || p.end == r.end);
              part.push_back(p);
            }
          }
          for (const Cols& other : needs) fits &= !lanes::overlap(other, part);
          width += lanes::width(part);
          needs.push_back(std::move(part));
        }
        if (!fits || width != lanes::width(own)) continue;
        out = std::move(needs);
        return true;
      }
    }
    return false;
  }

  void cut_cols(NodeId id) {
    const Work& work = sketch[id];
    const std::int64_t granule = lanes::col_granule(sketch.graph, sketch.graph[id]);
    lanes::Share share{.split = Split::cols, .cols = {}};
    share.cols.resize(static_cast<std::size_t>(parts()));
    std::int64_t begin = 0;
    for (const std::int64_t end : lanes::col_segments(sketch.graph, sketch.graph[id])) {
      for (int lane = 0; lane < sketch.lanes; ++lane) {
        const Cols own =
            lanes::within(work.share.cols[static_cast<std::size_t>(lane)], {begin, end});
        std::vector<Cols> cut;
        if (!split_like_readers(id, lane, own, granule, cut)) {
          // As in choose_cols(): the coarsest steps that are still enough.
          std::int64_t step = granule;
          for (auto it = work.cuts.rbegin(); it != work.cuts.rend(); ++it) {
            if (*it % granule == 0 && lanes::width(own) >= *it * shares) step = *it;
          }
          cut = cut_lane(own, step, shares);
        }
        for (int k = 0; k < shares; ++k) {
          Cols& to = share.cols[static_cast<std::size_t>(lane * shares + k)];
          const Cols& part = cut[static_cast<std::size_t>(k)];
          to.insert(to.end(), part.begin(), part.end());
        }
      }
      begin = end;
    }
    cuts[id] = std::move(share);
  }

  bool fits() {
    for (auto it = steps.rbegin(); it != steps.rend(); ++it) {
      const Work& work = sketch[*it];
      // Every part of the rows would read all weights again.
      if (work.share.split == Split::rows && work.shared_ns * 4 > work.ns) return false;
      if (work.share.split == Split::cols) {
        cut_cols(*it);
      } else {
        cuts[*it] = work.share;
      }
    }
    return lanes::are_independent(sketch.graph, steps, cuts, parts());
  }
};

}  // namespace

void choose_shares(Sketch& sketch, double share_ns) {
  std::vector<std::vector<NodeId>> stages;
  std::vector<double> ns;  // per lane: rough time of the work that can be divided
  for (NodeId id = 0; id < sketch.graph.size(); ++id) {
    const Work& work = sketch[id];
    if (!work.works) continue;
    const std::size_t stage = static_cast<std::size_t>(work.stage);
    if (stages.size() <= stage) stages.resize(stage + 1), ns.resize(stage + 1);
    stages[stage].push_back(id);
    if (work.share.split == Split::cols || work.share.split == Split::rows)
      ns[stage] += work.ns / sketch.lanes;
  }
  sketch.shares.assign(stages.size(), 1);
  if (sketch.lanes == 1 || sketch.lanes > kMaxSharedLanes) return;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    const int max_shares = ns[stage] >= share_ns * kDefaultShares
                               ? kDefaultShares
                               : static_cast<int>(ns[stage] / share_ns);
    for (int shares = max_shares; shares > 1; --shares) {
      StageCut cut{sketch, stages[stage], shares, {}};
      if (!cut.fits()) continue;
      sketch.shares[stage] = shares;
      for (const NodeId id : stages[stage]) sketch[id].parts = std::move(cut.cuts[id].cols);
      break;
    }
  }
}

}  // namespace weft::scheduler
