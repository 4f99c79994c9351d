#pragma once
// The kernels of collective ops. A message is a header and some rows. A tensor with more rows goes
// in several messages, of which one is under way while another is added up.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/backends/backend.h"
#include "weft/backends/device.h"
#include "weft/scheduler/rank_link.h"

namespace weft::scheduler {

// The kernel of a node of a collective op, of a backend "ranks".
Kernel exchange_kernel(const Graph& graph, const Node& node);

// One exchange of a plan. Not thread-safe: the exchanges of a plan run one after the other.
class Exchange final : public PreparedKernel {
 public:
  // REQUIRES: node.op->collective. Everything outlives it.
  Exchange(RankLink& link, const Graph& graph, const Node& node, KernelFailure& failure);

  void run(const KernelArgs& args) noexcept;
  // Ends an exchange that has not begun or is not complete, because the run was cancelled (then
  // `error` is empty) or failed. Throws RankError.
  void give_up(const std::string& error);

  // What the op is defined over: the first inputs of the ranks that take part, in their order, with
  // rows back to back. All of them must call it. Throws RankError.
  struct Values {
    std::vector<std::vector<std::byte>> bytes;
    std::vector<View> views;
  };
  Values share_values(const KernelArgs& args);

 private:
  struct Header;
  struct Peer {
    int rank = 0;
    bool ended = false;                    // it sends no more messages in this exchange
    std::span<const std::byte> rows = {};  // those that it sent last
  };

  bool is_skipped() const { return result_ && !link_.results; }
  std::span<std::byte> buffer(const KernelArgs& args, std::size_t i) const;
  void exchange(const KernelArgs& args);
  void send(const KernelArgs& args, std::int64_t first);
  void receive(Peer& peer, std::span<std::byte> room);
  void read(Peer& peer, std::span<const std::byte> message);
  void add_up(const KernelArgs& args, std::int64_t first, std::int64_t n) const;
  void join(const KernelArgs& args, std::int64_t first, std::int64_t n) const;
  std::span<const std::byte> source_row(const KernelArgs& args, int source, std::int64_t first,
                                        std::int64_t n, std::int64_t r) const;
  bool is_counted() const;
  void wait_for_credit();
  void finish();

  RankLink& link_;
  KernelFailure& failure_;
  const std::string path_;
  const OpDef& op_;
  std::int32_t index_ = 0;
  std::int64_t cols_ = 0;
  std::int64_t buffer_bytes_ = 0;
  bool result_ = false;
  std::vector<int> to_;     // ranks that this one sends to
  std::vector<Peer> from_;  // ranks that it receives from
  std::vector<int>
      sources_;        // what the output consists of, in order: indices of from_, or this rank
  bool told_ = false;  // this rank sends no more messages in this exchange
};

}  // namespace weft::scheduler
