#pragma once
// One plan of a model, from flags and a list of changes to them.

#include <cstdint>
#include <string>

#include "weft/run/session.h"

namespace weft::tools {

struct Variant {
  PlannedModel planned;
  std::size_t index = 0;

  const Graph& graph() const { return planned.graphs[index]; }
  const Plan& plan() const { return planned.plans[index]; }
};

// "3" or "0-1", of n_layers; an empty text changes nothing. Throws UsageError.
void read_layers(const std::string& text, std::int64_t n_layers, std::int64_t& first_layer,
                 std::int64_t& last_layer);

// `phase`: "decode", "prefill" (the widest) or the name of a plan. Throws UsageError if there is
// no such plan.
std::size_t find_phase(const PlannedModel& planned, const std::string& phase);

// `changes`: "", "default", "as-built" or "no-pass=NAME,backend=NAME,threads=N,weights=MODE". A
// plan that would not fit into memory can be looked at if no budget was stated. Throws
// UsageError for others.
Variant make_variant(const Model& model, SessionOptions options, const std::string& changes,
                     const std::string& phase);

}  // namespace weft::tools
