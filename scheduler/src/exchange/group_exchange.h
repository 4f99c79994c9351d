#pragma once
// Exchanges of a group of ranks (GroupAttrs).

#include "exchange/exchange.h"
#include "exchange/traffic.h"

namespace weft::scheduler {

class GroupExchange : public Exchange {
 protected:
  enum class Senders { all, first };

  GroupExchange(const ExchangeSite& site, MessageLayout layout, Senders senders);
};

// The columns of all ranks, side by side. A rank may have fewer of them than another one.
class AllGather final : public GroupExchange {
 public:
  explicit AllGather(const ExchangeSite& site);
  static MessageLayout layout(const Graph& graph, const Node& node);
  static Traffic traffic(const TrafficCase& c);

 private:
  std::int64_t own_cols(const KernelArgs& args, const Block& block) const override;
  void check_rows(const KernelArgs& args, const Peer& peer, const Block& block) const override;
  void combine(const KernelArgs& args, const Block& block) const override;

  std::int64_t cols_before(const KernelArgs& args, const Peer* end, const Block& block) const;
  std::int64_t cols() const { return layout_.chunks.ends.back(); }
};

// The rows of the group's first rank.
class Broadcast final : public GroupExchange {
 public:
  explicit Broadcast(const ExchangeSite& site);
  static MessageLayout layout(const Graph& graph, const Node& node);
  static Traffic traffic(const TrafficCase& c);
};

}  // namespace weft::scheduler
