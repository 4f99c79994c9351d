#pragma once
// Sums over a group of ranks. The sum of a projection's results begins before it is complete: the
// columns that have been computed are sent while others are computed.

#include <atomic>
#include <memory>
#include <mutex>
#include <span>

#include "exchange/group_exchange.h"

namespace weft::scheduler {

class AllReduce final : public GroupExchange {
 public:
  explicit AllReduce(const ExchangeSite& site);
  static MessageLayout layout(const Graph& graph, const Node& node);
  static Traffic traffic(const TrafficCase& c);

  AllReduce* takes_columns() override { return layout_.chunks.ends.size() > 1 ? this : nullptr; }
  // Ends of the ranges of columns that are sent while others are computed.
  std::span<const std::int64_t> chunk_ends() const { return layout_.chunks.ends; }
  // All rows of these columns of its first input were computed: sends the ranges that are complete,
  // if it is this exchange's turn. Called by any worker, also at the same time.
  void computed(std::int64_t col0, std::int64_t col1) noexcept;

 private:
  void exchange(const KernelArgs& args) override;
  void combine(const KernelArgs& args, const Block& block) const override;
  void finish() override;

  void exchange_sums(const KernelArgs& args);
  void receive_sums(const KernelArgs& args, const Block& block);
  void send_computed();

  // The run in progress.
  std::unique_ptr<std::atomic<std::int64_t>[]> n_cols_;  // that were computed, by chunk
  std::mutex early_;                                     // serializes sends by computed()
};

}  // namespace weft::scheduler
