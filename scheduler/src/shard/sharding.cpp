#include <charconv>
#include <cstdlib>

#include "weft/base/error.h"
#include "weft/scheduler/shard.h"

namespace weft {
namespace {

int parse_ranks(std::string_view text, std::string_view all) {
  int n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n < 1 || n > kMaxRanks)
    fail<ValueError>("a sharding has numbers from 1 to {}, got '{}'", kMaxRanks, all);
  return n;
}

}  // namespace

Sharding parse_sharding(std::string_view text) {
  const std::string_view all = text;
  Sharding s;
  bool has_tp = false, has_pp = false;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    more = comma != std::string_view::npos;
    text.remove_prefix(more ? comma + 1 : text.size());
    const bool tp = item.starts_with("tp=") && !has_tp, pp = item.starts_with("pp=") && !has_pp;
    if (!tp && !pp)
      fail<ValueError>(
          "a sharding is tp=N (tensor parallel), pp=N (pipeline parallel) or tp=N,pp=M, got '{}'",
          all);
    (tp ? s.tp : s.pp) = parse_ranks(item.substr(3), all);
    (tp ? has_tp : has_pp) = true;
  }
  if (s.ranks() > kMaxRanks)
    fail<ValueError>("a sharding has at most {} ranks, got '{}'", kMaxRanks, all);
  if (const char* value = std::getenv("WEFT_SHARD_ALL"); value && value == std::string_view("1"))
    s.min_elems = 0;
  return s;
}

std::string to_string(const Sharding& s) {
  if (s.pp == 1) return fmt::format("tp={}", s.tp);
  if (s.tp == 1) return fmt::format("pp={}", s.pp);
  return fmt::format("tp={},pp={}", s.tp, s.pp);
}

std::string to_string(const UndividedOp& op, const Sharding& sharding) {
  const Sharding group{.tp = sharding.tp};
  return fmt::format(
      "every rank of {} computes all of {} ({} {}, such as '{}'): {}", to_string(group), op.op,
      op.n_nodes, op.n_nodes == 1 ? "node" : "nodes", op.first,
      op.says_cuts ? "it cannot be divided here" : "the op does not say how it is divided");
}

void check_number_of_ranks(const Sharding& sharding, int started) {
  if (sharding.ranks() != started)
    fail<ValueError>("the sharding {} needs {} ranks, but {} were started", to_string(sharding),
                     sharding.ranks(), started);
}

}  // namespace weft
