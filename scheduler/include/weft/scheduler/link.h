#pragma once
// The links between ranks: how fast they are, and how long the exchanges of a graph take on them.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weft/graph/graph.h"
#include "weft/scheduler/communicator.h"

namespace weft {

struct LinkSpeed {
  double latency = 1e-4;             // seconds until a small message has arrived
  double bytes_per_second = 1.25e8;  // of one direction
};

// "0.1ms,1Gbit": the latency in s, ms or us, and the bandwidth in bit, kbit, Mbit or Gbit per
// second. Throws ValueError for anything else.
LinkSpeed parse_link(std::string_view text);
std::string to_string(const LinkSpeed& link);  // "100 us, 1 Gbit/s"

// What one rank exchanges in one run of its graph.
struct Traffic {
  std::int64_t exchanges = 0;
  std::int64_t messages_out = 0, bytes_out = 0;
  double seconds = 0;  // that the rank waits for what it exchanges
};
// At these extents. With `results`, also the results of the model. Terms of a sum that are under
// way while a projection computes the rest count for as long as that takes; a rate of 0: they wait
// for all of it.
Traffic traffic_of(const Graph& graph, const Extents& extents, const LinkSpeed& link, bool results,
                   double multiply_adds_per_second = 0);
// What a run of the graph computes at these extents.
double multiply_adds_of(const Graph& graph, const Extents& extents);

// An endpoint whose messages arrive no sooner than over such a link, which all messages of a rank
// share; the ranks are on one machine. To try what a network would do. `inner` outlives it.
std::unique_ptr<Communicator> slowed_communicator(Communicator& inner, const LinkSpeed& link);

}  // namespace weft
