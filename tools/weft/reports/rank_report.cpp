#include "reports/rank_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "weft/base/human_numbers.h"
#include "weft/scheduler/budget.h"

namespace weft::tools {
namespace {

using bench::RankForecast;
using bench::RankNeed;

std::string line_of(const RankNeed& rank) {
  const MemoryUse& m = rank.memory;
  return fmt::format("{:>4}  {:>10}  {:>10}  {:>10}  {:>10}  {:>9}  {:>10}\n", rank.rank,
                     human_bytes(m.weights_mapped + m.weights_resident + m.weights_streamed),
                     human_bytes(m.state), human_bytes(m.arena + m.scratch + m.program + m.other),
                     human_bytes(m.total()), rank.decode.exchanges,
                     human_bytes(rank.decode.bytes_out));
}

std::string speeds_of(const RankForecast& f) {
  return fmt::format("prefill {:.1f} tokens/s, decode {:.2f} tokens/s ({:.0f} % of it exchanges)",
                     f.prefill, f.decode, 100 * f.exchanges);
}

}  // namespace

std::string to_text(const RankForecast& f, const LinkSpeed& link) {
  if (!f.refused.empty()) return fmt::format("{}: {}\n", to_string(f.sharding), f.refused);
  std::string out = fmt::format(
      "{}: {} ranks\n"
      "rank     weights       state  arena etc.       total  exchanges  sent, per token\n",
      to_string(f.sharding), f.ranks.size());
  for (const RankNeed& rank : f.ranks) out += line_of(rank);
  if (f.decode > 0)
    out += fmt::format("forecast, machines like this one, links of {}:\n  {}\n", to_string(link),
                       speeds_of(f));
  return out;
}

std::string to_text(std::span<const RankForecast> shardings, const LinkSpeed& link) {
  std::string out = fmt::format(
      "forecast, machines like this one, links of {}:\n"
      "{:<12}  {:>12}  {:>10}  {:>10}  {:>9}  {:>15}\n",
      to_string(link), "sharding", "largest rank", "prefill/s", "decode/s", "exchanges",
      "sent, per token");
  const RankForecast* best = nullptr;
  for (const RankForecast& f : shardings) {
    if (!f.refused.empty()) {
      out += fmt::format("{:<12}  {}\n", to_string(f.sharding), f.refused);
      continue;
    }
    if (!best || f.decode > best->decode) best = &f;
    const RankNeed& first = f.ranks.front();
    out += fmt::format("{:<12}  {:>12}  {:>10.1f}  {:>10.2f}  {:>7.0f} %  {:>15}\n",
                       to_string(f.sharding), human_bytes(f.largest_rank_bytes()), f.prefill,
                       f.decode, 100 * f.exchanges, human_bytes(first.decode.bytes_out));
  }
  out += best ? fmt::format("best: --shard {}\n", to_string(best->sharding))
              : "none of them is possible\n";
  return out;
}

}  // namespace weft::tools
