#pragma once
// The kernels of collective ops. A message is a header and a block: some rows of a range of
// columns. A tensor with more of them goes in several messages.
//
// The sum of a projection's results begins before it is complete: the columns that have been
// computed are sent while others are computed (computed()).

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "weft/backends/backend.h"
#include "weft/backends/device.h"
#include "weft/scheduler/rank_link.h"

#include "plan/sum_chunks.h"

namespace weft::scheduler {

// The kernel of a node of a collective op, of a backend "ranks".
Kernel exchange_kernel(const Graph& graph, const Node& node);

// One exchange of a plan. The exchanges of a plan run one after the other, on one thread at a time.
class Exchange final : public PreparedKernel {
 public:
  // The exchange with that number among those of the plan. `args` are those of its calls, with the
  // extents of the run in progress. REQUIRES: node.op->collective. Everything outlives it.
  Exchange(RankLink& link, const Graph& graph, const Node& node, std::size_t number,
           const KernelArgs& args, KernelFailure& failure);

  void run(const KernelArgs& args) noexcept;
  // Ends an exchange that has not begun or is not complete, because the run was cancelled (then
  // `error` is empty) or failed. Throws RankError.
  void give_up(const std::string& error);

  // Ends of the ranges of columns that are sent while others are computed; one if none are.
  std::span<const std::int64_t> chunk_ends() const { return chunks_.ends; }
  // All rows of these columns of its first input were computed: sends the ranges that are complete,
  // if it is this exchange's turn. Called by any worker, also at the same time.
  void computed(std::int64_t col0, std::int64_t col1) noexcept;

  // What the op is defined over: the first inputs of the ranks that take part, in their order, with
  // rows back to back. All of them must call it. Throws RankError.
  struct Values {
    std::vector<std::vector<std::byte>> bytes;
    std::vector<View> views;
  };
  Values share_values(const KernelArgs& args);

 private:
  static constexpr int kSelf = -1;  // a source

  struct Header;
  struct Peer {
    int rank = 0;
    std::int64_t sent = 0, received = 0;  // messages to it and from it in this exchange
    bool receives = false, sends = false;
    bool ended = false;                    // it sends no more messages in this exchange
    std::span<const std::byte> rows = {};  // those that it sent last
  };
  bool is_skipped() const { return result_ && !link_.results; }
  Blocks blocks() const;
  std::int64_t n_messages(int from, int to) const;
  std::span<std::byte> buffer(const KernelArgs& args, std::size_t i) const;

  void exchange(const KernelArgs& args);
  void exchange_blocks(const KernelArgs& args);
  void exchange_sums(const KernelArgs& args);
  void send_until(const KernelArgs& args, std::int64_t end);
  void send_block(const View& x, const Block& block, bool sums);
  void send_to(Peer& peer, std::span<const std::byte> message);
  void receive(Peer& peer, std::span<std::byte> room);
  void read(Peer& peer, std::span<const std::byte> message);
  void expect_bytes(const Peer& peer, std::int64_t n) const;
  bool receive_all(const KernelArgs& args, const Block& block);
  void add_up(const KernelArgs& args, const Block& block) const;
  void join(const KernelArgs& args, const Block& block) const;
  std::span<const std::byte> source_row(const KernelArgs& args, int source, const Block& block,
                                        std::int64_t r) const;
  void wait_for_credit();
  void give_credit();
  void finish();

  RankLink& link_;
  KernelFailure& failure_;
  const KernelArgs& args_;
  const std::size_t number_;
  const std::string path_;
  const OpDef& op_;
  std::int32_t index_ = 0;
  std::int64_t cols_ = 0;
  int first_ = 0;     // rank of the group
  SumChunks chunks_;  // one chunk unless it is a sum
  std::int64_t rows_per_message_ = 1;
  std::int64_t buffer_bytes_ = 0;
  bool result_ = false;
  bool is_counted_ =
      false;  // it is between stages, of which the earlier must not run too far ahead
  std::vector<Peer> peers_;
  std::vector<int> sources_;  // what the output consists of, in order: indices of peers_, or kSelf

  // The run in progress.
  std::int64_t next_ = 0;                                // block of this rank to be sent
  std::unique_ptr<std::atomic<std::int64_t>[]> n_cols_;  // that were computed, by chunk
  std::mutex early_;                                     // serializes sends by computed()
  std::atomic<bool> failed_early_ = false;               // computed() has raised a failure
};

}  // namespace weft::scheduler
