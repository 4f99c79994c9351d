#include "exchange/group_exchange.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/ops/ranks/collectives.h"

namespace weft::scheduler {
namespace {

MessageLayout layout_of_group(const Node& node) {
  const auto& a = node.attrs.as<GroupAttrs>();
  return {
      .chunks = {.ends = {a.cols}}, .max_rows = node.spec.shape.rows().bound, .buffers = a.ranks};
}

Traffic traffic_of_group(const TrafficCase& c) {
  const std::int64_t others = c.node.attrs.as<GroupAttrs>().ranks - 1;
  const std::int64_t out = others * c.bytes_of(c.input());
  return {.exchanges = 1,
          .messages_out = others,
          .bytes_out = out,
          .seconds = c.link.latency + static_cast<double>(out) / c.link.bytes_per_second};
}

}  // namespace

GroupExchange::GroupExchange(const ExchangeSite& site, MessageLayout layout, Senders senders)
    : Exchange(site, std::move(layout), site.node.attrs.as<GroupAttrs>().first,
               site.node.attrs.as<GroupAttrs>().index) {
  const int self = run_.link.rank(), end = first_ + site.node.attrs.as<GroupAttrs>().ranks;
  const auto sends = [&](int r) { return senders == Senders::all || r == first_; };
  for (int r = first_; r < end; ++r) {
    if (sends(r)) sources_.push_back(r == self ? kSelf : static_cast<int>(peers_.size()));
    if (r != self) peers_.push_back({.rank = r, .receives = sends(self), .sends = sends(r)});
  }
}

AllGather::AllGather(const ExchangeSite& site)
    : GroupExchange(site, layout(site.graph, site.node), Senders::all) {}

MessageLayout AllGather::layout(const Graph&, const Node& node) {
  return layout_of_group(node);
}

Traffic AllGather::traffic(const TrafficCase& c) {
  return traffic_of_group(c);
}

std::int64_t AllGather::own_cols(const KernelArgs& args, const Block&) const {
  return args.in[0].cols();
}

// The columns of this rank, and of the peers before `end`.
std::int64_t AllGather::cols_before(const KernelArgs& args, const Peer* end,
                                    const Block& block) const {
  std::int64_t sum = args.in[0].cols();
  for (const Peer* peer = peers_.data(); peer != end; ++peer)
    sum += std::ssize(peer->rows) / (block.rows * 4);
  return sum;
}

void AllGather::check_rows(const KernelArgs& args, const Peer& peer, const Block& block) const {
  const std::int64_t got = std::ssize(peer.rows) / (block.rows * 4);
  const std::int64_t most = cols() - cols_before(args, &peer, block);
  expect_bytes(peer, block.rows * std::min(got, most) * 4);
}

void AllGather::combine(const KernelArgs& args, const Block& block) const {
  const std::int64_t sum = cols_before(args, peers_.data() + peers_.size(), block);
  if (sum != cols())
    throw RankError(run_.link.rank(), fmt::format("the ranks have {} columns of {}", sum, cols()));
  join(args, block);
}

Broadcast::Broadcast(const ExchangeSite& site)
    : GroupExchange(site, layout(site.graph, site.node), Senders::first) {}

MessageLayout Broadcast::layout(const Graph&, const Node& node) {
  return layout_of_group(node);
}

Traffic Broadcast::traffic(const TrafficCase& c) {
  return traffic_of_group(c);
}

}  // namespace weft::scheduler
