#include "replay/flow_replay.h"

#include <atomic>
#include <deque>
#include <thread>

#include <oneapi/tbb/flow_graph.h>

#include "machine/tell_tsan.h"

namespace weft::scheduler {
namespace {

namespace flow = oneapi::tbb::flow;

// The numbers of the plan's workers, one per lane. Any thread may run a piece, but it runs it as
// one of these workers, with that worker's copies and scratch memory. If the arena has more threads
// than lanes, some wait here until others finish a piece.
class Seats {
 public:
  explicit Seats(int n) : seats_(static_cast<std::size_t>(n)) {}

  // A free number, if possible that of the thread's slot in the arena.
  int take() {
    const int slot = oneapi::tbb::this_task_arena::current_thread_index();
    const int n = static_cast<int>(seats_.size());
    const int first = slot >= 0 && slot < n ? slot : 0;
    for (;; std::this_thread::yield()) {
      for (int i = 0; i < n; ++i) {
        const int at = (first + i) % n;
        std::atomic<bool>& taken = seats_[static_cast<std::size_t>(at)].taken;
        if (taken.load(std::memory_order_relaxed)) continue;
        if (taken.exchange(true, std::memory_order_acquire)) continue;
        tsan_acquire(&taken);
        return at;
      }
    }
  }
  void release(int seat) {
    std::atomic<bool>& taken = seats_[static_cast<std::size_t>(seat)].taken;
    tsan_release(&taken);
    taken.store(false, std::memory_order_release);
  }

 private:
  struct alignas(64) Seat {
    std::atomic<bool> taken{false};
  };
  std::vector<Seat> seats_;
};

}  // namespace

class FlowReplay::Graph {
 public:
  Graph(ReplayJob& job, const std::vector<PieceGroup>& pieces)
      : job_(job),
        seats_(job.lanes()),
        start_(graph_, Meet{}),
        nodes_(pieces.size()),
        marks_(pieces.size() + 1) {
    for (std::size_t group = 0; group < pieces.size(); ++group) {
      for (const Piece& piece : pieces[group])
        nodes_[group].emplace_back(graph_, body_of(piece, group));
      if (group > 0) connect(pieces[group - 1], pieces[group], group);
    }
    // The calling thread starts with the last one: lane 0.
    if (pieces.empty()) return;
    for (auto node = nodes_.front().rbegin(); node != nodes_.front().rend(); ++node)
      flow::make_edge(start_, *node);
  }

  void run() {
    tsan_release(&marks_.front());
    start_.try_put(flow::continue_msg());
    graph_.wait_for_all();
    tsan_acquire(&marks_.back());
  }

 private:
  using Node = flow::continue_node<flow::continue_msg>;
  using Join = flow::continue_node<flow::continue_msg, flow::lightweight>;
  struct Meet {
    void operator()(const flow::continue_msg&) const noexcept {}
  };
  struct Body {
    Graph* graph;
    int stage;
    int index;    // the share, or the lane whose copies these are
    bool copies;  // whether the piece is a lane's copies
    std::size_t group;
    void operator()(const flow::continue_msg&) const noexcept { graph->run_piece(*this); }
  };

  Body body_of(const Piece& piece, std::size_t group) {
    const int shares = job_.stages()[static_cast<std::size_t>(piece.stage)].shares;
    return {.graph = this,
            .stage = piece.stage,
            .index = piece.copies ? piece.lane : piece.lane * shares + piece.share,
            .copies = piece.copies,
            .group = group};
  }

  // The join between two groups. When a node is the last one to end, its thread continues with the
  // node's last successor, so that is the one of the same lane.
  void connect(const PieceGroup& before, const PieceGroup& after, std::size_t group) {
    std::deque<Node>&from = nodes_[group - 1], &to = nodes_[group];
    if (needs_join_node(from.size(), to.size())) {
      Join& join = joins_.emplace_back(graph_, Meet{});
      for (Node& node : from) flow::make_edge(node, join);
      for (Node& node : to) flow::make_edge(join, node);
      return;
    }
    for (std::size_t i = 0; i < from.size(); ++i) {
      for (const bool same_lane : {false, true}) {
        for (std::size_t j = 0; j < to.size(); ++j) {
          if ((before[i].lane == after[j].lane) == same_lane) flow::make_edge(from[i], to[j]);
        }
      }
    }
  }

  void run_piece(const Body& piece) noexcept {
    tsan_acquire(&marks_[piece.group]);
    const int worker = seats_.take();
    if (piece.copies) {
      job_.copies(piece.stage, piece.index, worker);
    } else {
      job_.share(piece.stage, piece.index, worker);
    }
    seats_.release(worker);
    tsan_release(&marks_[piece.group + 1]);
  }

  ReplayJob& job_;
  Seats seats_;
  flow::graph graph_;  // bound to the arena in which it is constructed
  Join start_;
  std::vector<std::deque<Node>> nodes_;  // by group
  std::deque<Join> joins_;
  // Marks the start of each group, and the end of the run. Only ThreadSanitizer uses them.
  std::vector<char> marks_;
};

FlowReplay::FlowReplay(ReplayJob& job, const std::vector<PieceGroup>& pieces,
                       oneapi::tbb::task_arena& arena)
    : arena_(arena) {
  arena_.execute([&] { graph_ = std::make_unique<Graph>(job, pieces); });
}

FlowReplay::~FlowReplay() {
  arena_.execute([&] { graph_.reset(); });
}

// Must run within the arena: a message from outside would go through a queue that allocates.
void FlowReplay::run() {
  arena_.execute([&] { graph_->run(); });
}

}  // namespace weft::scheduler
