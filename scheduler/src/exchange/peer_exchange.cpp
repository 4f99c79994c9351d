#include "exchange/peer_exchange.h"

#include "weft/ops/ranks/collectives.h"

namespace weft::scheduler {
namespace {

MessageLayout layout_of_two(const Shape& rows, const Node& node) {
  return {.chunks = {.ends = {node.attrs.as<PeerAttrs>().cols}}, .max_rows = rows.rows().bound};
}

bool is_skipped_in(const TrafficCase& c) {
  return c.node.attrs.as<PeerAttrs>().result && !c.results;
}

}  // namespace

PeerExchange::PeerExchange(const ExchangeSite& site, MessageLayout layout, bool sends)
    : Exchange(site, std::move(layout), 0, site.node.attrs.as<PeerAttrs>().index),
      is_result_(site.node.attrs.as<PeerAttrs>().result) {
  peers_ = {{.rank = site.node.attrs.as<PeerAttrs>().peer, .receives = sends, .sends = !sends}};
  sources_ = {sends ? kSelf : 0};
}

Send::Send(const ExchangeSite& site) : PeerExchange(site, layout(site.graph, site.node), true) {}

MessageLayout Send::layout(const Graph& graph, const Node& node) {
  return layout_of_two(graph[node.inputs[0]].spec.shape, node);
}

// The sender goes on.
Traffic Send::traffic(const TrafficCase& c) {
  if (is_skipped_in(c)) return {};
  return {.exchanges = 1, .messages_out = 1, .bytes_out = c.bytes_of(c.input())};
}

void Send::exchange(const KernelArgs& args) {
  if (is_counted()) run_.link.wait_for_room(peer());
  exchange_blocks(args);
  *args.out.row<float>(0) = 0;
}

void Send::finish() {
  Exchange::finish();
  if (is_counted()) run_.link.sent(peer());
}

Recv::Recv(const ExchangeSite& site) : PeerExchange(site, layout(site.graph, site.node), false) {}

MessageLayout Recv::layout(const Graph&, const Node& node) {
  return layout_of_two(node.spec.shape, node);
}

// The receiver waits.
Traffic Recv::traffic(const TrafficCase& c) {
  if (is_skipped_in(c)) return {};
  const auto bytes = static_cast<double>(c.bytes_of(c.node.spec.shape));
  return {.exchanges = 1, .seconds = c.link.latency + bytes / c.link.bytes_per_second};
}

void Recv::finish() {
  Exchange::finish();
  if (is_counted()) run_.link.taken(peer());
}

}  // namespace weft::scheduler
