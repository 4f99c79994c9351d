#pragma once
// The exchanges of a plan, in their order.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exchange/exchange.h"

namespace weft::scheduler {

class Exchanges {
 public:
  explicit Exchanges(RankLink& link) : run_(link) {}  // which outlives them

  // Adds that of a node. `args` and `failure` outlive it. REQUIRES: node.op->collective.
  Exchange& add(const Graph& graph, const Node& node, const KernelArgs& args,
                KernelFailure& failure);
  bool empty() const { return all_.empty(); }

  // Before a run. `results`, `check`: those of its RunOptions.
  void begin(bool results, const std::function<void()>& check) { run_.begin(results, check); }
  // Whether the run ended on another rank.
  bool has_ended() const noexcept { return run_.ended; }
  // The run has stopped: takes part in the exchanges that were left. A rank that was lost is not
  // waited for: the others are told to give up, too.
  void give_up(const std::string& error) noexcept;
  const std::optional<RankError>& loss() const { return run_.link.loss(); }

 private:
  ExchangeRun run_;
  std::vector<std::unique_ptr<Exchange>> all_;
};

}  // namespace weft::scheduler
