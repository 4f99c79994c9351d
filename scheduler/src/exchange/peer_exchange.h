#pragma once
// Exchanges of two ranks, of which one sends to the other (PeerAttrs).

#include "exchange/exchange.h"
#include "exchange/traffic.h"

namespace weft::scheduler {

class PeerExchange : public Exchange {
 protected:
  PeerExchange(const ExchangeSite& site, MessageLayout layout, bool sends);

  bool is_skipped() const override { return is_result_ && !run_.results; }
  int peer() const { return peers_[0].rank; }
  // Between stages of a model, of which the earlier one must not run too far ahead. Results need
  // no count: rank 0 waits for them.
  bool is_counted() const { return !is_result_ && run_.link.has_others(); }

 private:
  const bool is_result_;
};

class Send final : public PeerExchange {
 public:
  explicit Send(const ExchangeSite& site);
  static MessageLayout layout(const Graph& graph, const Node& node);
  static Traffic traffic(const TrafficCase& c);

 private:
  std::int64_t rows() const override { return args_.in[0].rows(); }
  void exchange(const KernelArgs& args) override;
  void combine(const KernelArgs&, const Block&) const override {}  // nothing is received
  void finish() override;
};

class Recv final : public PeerExchange {
 public:
  explicit Recv(const ExchangeSite& site);
  static MessageLayout layout(const Graph& graph, const Node& node);
  static Traffic traffic(const TrafficCase& c);

 private:
  void finish() override;
};

}  // namespace weft::scheduler
