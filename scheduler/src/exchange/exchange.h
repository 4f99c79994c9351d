#pragma once
// What the exchanges of all collective ops have in common. A message is a header and a block: some
// rows of a range of columns. A tensor with more of them goes in several messages. The classes of
// the ops are listed in collectives.cpp.

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weft/backends/backend.h"
#include "weft/backends/device.h"
#include "weft/scheduler/rank_link.h"

#include "exchange/sum_chunks.h"

namespace weft::scheduler {

class AllReduce;

// The run in progress of a plan, as its exchanges see it.
struct ExchangeRun {
  explicit ExchangeRun(RankLink& l) : link(l) {}

  RankLink& link;
  std::vector<std::byte> parcel;                 // the message that is sent
  bool results = true;                           // RunOptions::results
  const std::function<void()>* check = nullptr;  // RunOptions::check
  std::atomic<std::size_t> done = 0;             // exchanges that are complete
  std::atomic<bool> ended = false;               // it does not go on, on this rank or another

  void begin(bool wants_results, const std::function<void()>& check_of_run) {
    link.begin_run();
    results = wants_results;
    check = &check_of_run;
    done = 0;
    ended = false;
  }
  void check_computed() const {
    if (*check) (*check)();
  }
};

// The messages of an exchange: the same on all ranks that take part.
struct MessageLayout {
  SumChunks chunks;           // one chunk unless it is a sum
  std::int64_t max_rows = 1;  // the bound of what is exchanged
  int buffers = 1;            // messages that a rank holds at the same time

  std::int64_t rows_per_message() const;
  std::int64_t message_bytes() const;  // the most that one has, aligned
};

// Where an exchange stands. Everything outlives it.
struct ExchangeSite {
  ExchangeRun& run;
  const Graph& graph;
  const Node& node;
  const std::size_t number;  // among the exchanges of the plan
  const KernelArgs& args;    // those of its calls, with the extents of the run in progress
  KernelFailure& failure;
};

// One exchange of a plan. The exchanges of a plan run one after the other, on one thread at a time.
class Exchange : public PreparedKernel {
 public:
  void run(const KernelArgs& args) noexcept;
  // Ends an exchange that has not begun or is not complete, because the run was cancelled (then
  // `error` is empty) or failed. Throws RankError.
  void give_up(const std::string& error);
  // Not null if it takes its input in ranges of columns while others are computed.
  virtual AllReduce* takes_columns() { return nullptr; }

  // What the op is defined over: the first inputs of the ranks that take part, in their order, with
  // rows back to back. All of them must call it. Throws RankError.
  struct Values {
    std::vector<std::vector<std::byte>> bytes;
    std::vector<View> views;
  };
  Values share_values(const KernelArgs& args);

 protected:
  static constexpr int kSelf = -1;  // a source

  struct Header;
  struct Peer {
    int rank = 0;
    bool receives = false, sends = false;
    bool ended = false;                    // it sends no more messages in this exchange
    std::int64_t sent = 0, received = 0;   // messages to it and from it in this exchange
    std::span<const std::byte> rows = {};  // those that it sent last
  };

  // `first`: rank of the group's first member. `index`: counts the exchanges of those that take
  // part.
  Exchange(const ExchangeSite& site, MessageLayout layout, int first, std::int32_t index);

  // How the ops differ.

  // The plan has it for steps of another kind: nothing is exchanged in this run.
  virtual bool is_skipped() const { return false; }
  virtual std::int64_t rows() const { return args_.out.rows(); }  // that are exchanged
  virtual void exchange(const KernelArgs& args) { exchange_blocks(args); }
  // Columns of its own that a rank sends in place of `block`.
  virtual std::int64_t own_cols(const KernelArgs& args, const Block& block) const;
  // Writes the output rows of a block from those of all ranks that sent it.
  virtual void combine(const KernelArgs& args, const Block& block) const { join(args, block); }
  // Throws RankError if the peer has sent another number of bytes than those of its block.
  virtual void check_rows(const KernelArgs& args, const Peer& peer, const Block& block) const;
  // The exchange is complete, or was given up.
  virtual void finish();

  Blocks blocks() const;
  std::int64_t n_messages(int from, int to) const;
  std::span<std::byte> buffer(const KernelArgs& args, std::size_t i) const;

  void exchange_blocks(const KernelArgs& args);
  void send_until(const KernelArgs& args, std::int64_t end);
  void send_block(const View& x, const Block& block, bool to_owner);
  void receive(Peer& peer, std::span<std::byte> room);
  void expect_bytes(const Peer& peer, std::int64_t n) const;
  bool receive_all(const KernelArgs& args, const Block& block);
  void join(const KernelArgs& args, const Block& block) const;
  std::span<const std::byte> source_row(const KernelArgs& args, int source, const Block& block,
                                        std::int64_t r) const;

  ExchangeRun& run_;
  KernelFailure& failure_;
  const KernelArgs& args_;
  const std::size_t number_;
  const std::string name_;  // of op and node, for errors
  const MessageLayout layout_;
  const std::int64_t rows_per_message_, buffer_bytes_;
  const int first_;
  const std::int32_t index_;
  std::vector<Peer> peers_;
  std::vector<int> sources_;  // what the output consists of, in order: indices of peers_, or kSelf

  // The run in progress.
  std::int64_t next_ = 0;                 // block of this rank to be sent
  std::atomic<bool> has_failed_ = false;  // before it ran: the failure was raised

 private:
  void send_to(Peer& peer, std::span<const std::byte> message);
  void read(Peer& peer, std::span<const std::byte> message);
};

}  // namespace weft::scheduler
