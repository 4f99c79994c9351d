#include "exchange/collectives.h"

#include <algorithm>
#include <array>

#include "weft/base/error.h"
#include "weft/base/no_destructor.h"
#include "weft/ops/ranks/collectives.h"

#include "exchange/all_reduce.h"
#include "exchange/group_exchange.h"
#include "exchange/peer_exchange.h"

namespace weft::scheduler {
namespace {

template <class T>
constexpr Collective collective(const OpDef& op) {
  return {.op = &op,
          .layout = T::layout,
          .traffic = T::traffic,
          .make = [](const ExchangeSite& site) -> std::unique_ptr<Exchange> {
            return std::make_unique<T>(site);
          }};
}

constexpr std::array kCollectives{
    collective<AllReduce>(kAllReduce), collective<AllGather>(kAllGather),
    collective<Broadcast>(kBroadcast), collective<Send>(kSend), collective<Recv>(kRecv)};

class RanksBackend final : public Backend {
 public:
  std::string_view name() const override { return "ranks"; }
  std::string description() const override { return "exchanges with other ranks"; }
  std::optional<Kernel> find(const Graph&, const Node&) const override { return std::nullopt; }
};

void run_exchange(const KernelArgs& args, const Region&) noexcept {
  static_cast<Exchange*>(args.prepared)->run(args);
}

}  // namespace

const Collective& collective_of(const OpDef& op) {
  const auto* found = std::ranges::find(kCollectives, &op, &Collective::op);
  if (found == kCollectives.end())
    fail<UnsupportedError>("ranks cannot exchange {}: it is not a collective op", op.name);
  return *found;
}

Kernel exchange_kernel(const Graph& graph, const Node& node) {
  static const NoDestructor<RanksBackend> backend;
  const MessageLayout layout = collective_of(*node.op).layout(graph, node);
  return {.row = node.op->name,
          .run = run_exchange,
          .scratch_bytes = layout.buffers * layout.message_bytes(),
          .splits = false,
          .backend = &*backend,
          .queued = true};  // one lane runs all of them, in the order of the graph
}

}  // namespace weft::scheduler
