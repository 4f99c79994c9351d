#pragma once
// The collective ops, each with the class of its exchanges.

#include <memory>

#include "weft/backends/backend.h"

#include "exchange/exchange.h"
#include "exchange/traffic.h"

namespace weft::scheduler {

struct Collective {
  const OpDef* op = nullptr;
  MessageLayout (*layout)(const Graph& graph, const Node& node) = nullptr;
  // What one rank exchanges for a node.
  Traffic (*traffic)(const TrafficCase& c) = nullptr;
  std::unique_ptr<Exchange> (*make)(const ExchangeSite& site) = nullptr;
};

// REQUIRES: op.collective.
const Collective& collective_of(const OpDef& op);

// The kernel of a node of a collective op, of a backend "ranks".
Kernel exchange_kernel(const Graph& graph, const Node& node);

}  // namespace weft::scheduler
