#include "weft/scheduler/link.h"

#include <array>
#include <cstdlib>

#include "weft/base/error.h"
#include "weft/base/human_numbers.h"
#include "weft/ops/ranks/collectives.h"

#include "plan/sum_chunks.h"

namespace weft {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr std::array<Unit, 3> kSeconds{{{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
constexpr std::array<Unit, 4> kBytes{
    {{"kbit", 125}, {"Mbit", 125e3}, {"Gbit", 125e6}, {"bit", 0.125}}};

// A positive number with one of the units; 0 if it is none.
template <std::size_t n>
double quantity(const std::string& text, const std::array<Unit, n>& units) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  for (const Unit& unit : units)
    if (unit.name == end && value > 0 && value < 1e15) return value * unit.factor;
  return 0;
}

Traffic& operator+=(Traffic& sum, const Traffic& more) {
  sum.exchanges += more.exchanges;
  sum.messages_out += more.messages_out;
  sum.bytes_out += more.bytes_out;
  sum.seconds += more.seconds;
  return sum;
}

// Terms to the ranks that add them up, in chunks of which all but the last one are under way while
// the projection computes the next ones; and the sums, if they are scattered.
Traffic of_sum(const Node& node, std::int64_t bytes, const LinkSpeed& link,
               double seconds_of_terms) {
  const int ranks = node.attrs.as<GroupAttrs>().ranks;
  const Shape& shape = node.spec.shape;
  const auto chunks = scheduler::sum_chunks(ranks, shape.rows().bound, shape.cols());
  const std::int64_t n = std::ssize(chunks.ends), others = ranks - 1;
  const std::int64_t terms = chunks.scattered ? others * bytes / ranks : others * bytes;
  const std::int64_t sums = chunks.scattered ? others * bytes / ranks : 0;
  const double term_seconds = static_cast<double>(terms) / link.bytes_per_second;
  const double hidden = std::min(term_seconds, seconds_of_terms) * static_cast<double>(n - 1) /
                        static_cast<double>(n);
  return {.exchanges = 1,
          .messages_out = chunks.scattered ? 2 * n * others / ranks : n * others,
          .bytes_out = terms + sums,
          .seconds = (chunks.scattered ? 2 : 1) * link.latency + term_seconds - hidden +
                     static_cast<double>(sums) / link.bytes_per_second};
}

Traffic of_group(const Node& node, std::int64_t bytes, const LinkSpeed& link) {
  const std::int64_t others = node.attrs.as<GroupAttrs>().ranks - 1;
  const auto out = static_cast<double>(others * bytes);
  return {.exchanges = 1,
          .messages_out = others,
          .bytes_out = others * bytes,
          .seconds = link.latency + out / link.bytes_per_second};
}

// The receiver waits; the sender goes on.
Traffic of_two(const Node& node, std::int64_t bytes, const LinkSpeed& link) {
  if (node.op == &kSend) return {.exchanges = 1, .messages_out = 1, .bytes_out = bytes};
  return {.exchanges = 1,
          .seconds = link.latency + static_cast<double>(bytes) / link.bytes_per_second};
}

double multiply_adds(const Graph& graph, const Node& node, const Extents& extents) {
  if (!node.op || !node.op->cost) return 0;
  return static_cast<double>(
      node.op->cost(node.attrs, graph.input_specs(node), node.spec, extents).multiply_adds);
}

}  // namespace

double multiply_adds_of(const Graph& graph, const Extents& extents) {
  double sum = 0;
  for (NodeId id = 0; id < graph.size(); ++id) sum += multiply_adds(graph, graph[id], extents);
  return sum;
}

LinkSpeed parse_link(std::string_view text) {
  const std::size_t comma = std::min(text.find(','), text.size());
  const double latency = quantity(std::string(text.substr(0, comma)), kSeconds);
  const std::string_view rest = text.substr(std::min(comma + 1, text.size()));
  const double bytes = quantity(std::string(rest), kBytes);
  if (latency > 0 && bytes > 0) return {.latency = latency, .bytes_per_second = bytes};
  fail<ValueError>("a link is a latency and a bandwidth, such as 0.1ms,1Gbit; got '{}'", text);
}

std::string to_string(const LinkSpeed& link) {
  const auto& [kbit, mbit, gbit, bit] = kBytes;
  const double bytes = link.bytes_per_second;
  const Unit& unit = bytes >= gbit.factor ? gbit : bytes >= mbit.factor ? mbit : kbit;
  return fmt::format("{}, {} {}/s", human_ns(link.latency * 1e9), three_digits(bytes / unit.factor),
                     unit.name);
}

Traffic traffic_of(const Graph& graph, const Extents& extents, const LinkSpeed& link, bool results,
                   double multiply_adds_per_second) {
  Traffic sum;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (!node.op || !node.op->collective) continue;
    const bool between_two = node.op == &kSend || node.op == &kRecv;
    if (between_two && node.attrs.as<PeerAttrs>().result && !results) continue;
    const Shape& shape = node.op == &kRecv ? node.spec.shape : graph[node.inputs[0]].spec.shape;
    const std::int64_t bytes = shape[0].extent(extents) * shape.cols() * 4;
    if (between_two) {
      sum += of_two(node, bytes, link);
    } else if (node.op == &kAllReduce) {
      const double work = multiply_adds(graph, graph[node.inputs[0]], extents);
      const double seconds = multiply_adds_per_second > 0 ? work / multiply_adds_per_second : 0;
      sum += of_sum(node, bytes, link, seconds);
    } else {
      sum += of_group(node, bytes, link);
    }
  }
  return sum;
}

}  // namespace weft
