#include "weft/run/moved_tokens.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "weft/base/error.h"
#include "weft/ops/attention/cache_cells.h"
#include "weft/ops/formats/format.h"

#include "model/model_impl.h"
#include "moved/cell_mover.h"
#include "session/session_impl.h"

namespace weft {

using namespace run;

namespace {

bool is_compared(const CellRotations& rotations, const std::string& state) {
  return std::ranges::find(rotations.compared, state) != rotations.compared.end();
}

// The first stages of a plan, which write the states by which tokens are compared.
std::int32_t stages_to_compare(const PlannedModel& planned, std::size_t plan,
                               const CellRotations& rotations) {
  std::int32_t n = 0;
  for (const PlanStep& step : planned.plans[plan].steps) {
    const Node& node = planned.graphs[plan][step.node];
    if (node.op->storage != Storage::state) continue;
    if (is_compared(rotations, planned.graphs[plan][node.inputs[0]].path))
      n = std::max(n, step.stage + 1);
  }
  return n;
}

// Computes tokens of the sequence again, through all stages or only those before the comparison.
// REQUIRES: no other sequence shares their memory.
void repeat(Session& session, std::int32_t sequence, std::span<const std::int64_t> positions,
            bool all_stages, const std::atomic<bool>* cancel) {
  auto& s = SessionAccess::impl(session);
  const std::span<const std::int32_t> ids = session.tokens(sequence);
  std::vector<StepToken> step;
  std::vector<TokenPlace> places;
  for (const std::int64_t position : positions) {
    step.push_back({.token = ids[static_cast<std::size_t>(position)], .sequence = sequence});
    places.push_back({sequence, position});
  }
  s.last = {};
  s.memory.begin_repeating(places);
  Runner& r = s.prepare(step).runner;
  const std::size_t plan = s.planned.plan_for(std::ssize(step));
  s.run(r, {.cancel = cancel,
            .results = false,
            .stages = all_stages ? -1 : stages_to_compare(s.planned, plan, s.rotations)});
  if (s.stream) s.stream->count_rows(std::ssize(step));
}

// Where the cells of n positions from `begin` on are; empty if the sequence lacks one of them.
// REQUIRES: the part has a cell for each position.
std::vector<std::int32_t> places_of(const SequenceMemory& part, std::int32_t sequence,
                                    std::int64_t begin, std::int64_t n) {
  const std::vector<std::int32_t> blocks = part.saved_rows(sequence, begin + n);
  const std::int64_t first = blocks_for(begin + n) - std::ssize(blocks);
  std::vector<std::int32_t> places;
  if (begin / kCellsPerBlock < first) return places;
  for (std::int64_t i = begin; i < begin + n; ++i) {
    const std::int32_t block = blocks[static_cast<std::size_t>(i / kCellsPerBlock - first)];
    places.push_back(static_cast<std::int32_t>(block * kCellsPerBlock + i % kCellsPerBlock));
  }
  return places;
}

// Why the memory of a graph cannot give cells away.
std::string why_not(const PlannedModel& planned) {
  for (const arch::MemoryPart& part : planned.memory_parts) {
    if (part.of != arch::MemoryOf::sequence) continue;
    if (part.kind == "rows") return "the model has recurrent states";
    if (part.stride > 1)
      return fmt::format("the model has cells for every {} positions", part.stride);
  }
  return "";
}

// The values of cells in the states by which tokens are compared, [states][tokens, groups, E].
using Compared = std::vector<std::vector<float>>;

Compared read_compared(const Session& session, std::int32_t sequence, std::int64_t begin,
                       std::int64_t n) {
  const auto& s = SessionAccess::impl(session);
  Compared all;
  for (const auto& part : s.memory.parts()) {
    const std::vector<std::int32_t> places = places_of(*part, sequence, begin, n);
    for (const StateStore::State& state : part->store().states()) {
      if (!is_compared(s.rotations, state.path)) continue;
      const View view = bounds_view(state.spec, state.host);
      const std::int64_t E = view.dim(-1), G = view.dim(1);
      std::vector<float>& values = all.emplace_back(static_cast<std::size_t>(n * G * E));
      float* at = values.data();
      for (const std::int32_t place : places)
        for (std::int64_t group = 0; group < G; ++group, at += E)
          find_format(view.dtype)->decode(cell_at(view, place, group), at, E);
    }
  }
  return all;
}

// By token: the squares of the differences, each state's as a part of its mean square.
std::vector<double> deviations(const Compared& before, const Compared& after, std::int64_t n) {
  std::vector<double> sums(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < before.size(); ++i) {
    const std::size_t width = before[i].size() / sums.size();
    double all = 0;
    for (const float v : after[i]) all += double{v} * v;
    for (std::size_t t = 0; t < sums.size() && all > 0; ++t) {
      double sum = 0;
      for (std::size_t at = t * width; at < (t + 1) * width; ++at) {
        const double difference = double{after[i][at]} - before[i][at];
        sum += difference * difference;
      }
      sums[t] += sum / all;
    }
  }
  return sums;
}

}  // namespace

std::string why_not_moved(const Model& model) {
  if (model.facts().encodes) return "the model has an encoder";
  if (!model.facts().causal) return "tokens of the model attend to later ones";
  if (impl_of(model).ranks.group) return "the model is divided among ranks";
  return "";
}

std::string why_not_moved(const Session& session) {
  const auto& s = SessionAccess::impl(session);
  if (std::string why = why_not_moved(*s.model); !why.empty()) return why;
  if (s.planned.options.draft_layer) return "the session drafts with a layer of the model";
  if (std::string why = why_not(s.planned); !why.empty()) return why;
  for (const auto& part : s.memory.parts())
    for (const StateStore::State& state : part->store().states())
      if (!state.host) return "the memory of the model is on a device";
  return s.rotations.why_not;
}

std::int64_t max_moved_tokens(const Session& session) {
  const PlannedModel& planned = SessionAccess::impl(session).planned;
  const auto drops = [](const arch::MemoryPart& part) {
    return part.of == arch::MemoryOf::sequence && part.window > 0 && part.kept_rows == 0;
  };
  return std::ranges::any_of(planned.memory_parts, drops)
             ? std::min(arch::kGuaranteedRewind, planned.options.prefill_width)
             : planned.options.prefill_width;
}

namespace {

void check_moved(const Session& session, std::int32_t to, const MovedTokens& tokens) {
  if (const std::string why = why_not_moved(session); !why.empty())
    fail<UnsupportedError>("{}: tokens cannot be taken from another position: {}",
                           session.model().file().path(), why);
  const auto& [from, begin, n] = tokens;
  const std::int64_t length = session.length(from), most = max_moved_tokens(session);
  if (n < 1 || n > most || begin < 0 || begin > length - n)
    fail<ValueError>("sequence {} has {} tokens, cannot take {} from {} on; at most {} at once",
                     from, length, n, begin, most);
  if (session.mixes_lora_scales(from) ||
      !std::ranges::equal(session.lora_scales(from), session.lora_scales(to)))
    fail<ValueError>("sequences {} and {} have other scales of LoRAs", from, to);
}

// Copies and rotates the cells of one part of the memory. Returns false if `from` lacks some.
bool move_cells(Session& session, const SequenceMemory& part, std::int32_t to, std::int64_t at,
                const MovedTokens& tokens) {
  auto& s = SessionAccess::impl(session);
  const auto& [from, begin, n] = tokens;
  if (part.row_count(begin + n).most == 0) return true;  // cells of no sequence
  const auto old = places_of(part, from, begin, n), moved = places_of(part, to, at, n);
  if (old.empty()) return false;
  const auto weight = [&](const Node& node) { return s.weight(node); };
  for (const StateStore::State& state : part.store().states()) {
    CellMover mover(state, s.planned.graphs.front(), s.rotations, weight);
    mover.set_distance(static_cast<std::int32_t>(at - begin));
    for (std::size_t i = 0; i < old.size(); ++i) mover.move(old[i], moved[i]);
  }
  return true;
}

}  // namespace

bool append_moved(Session& session, std::int32_t to, const MovedTokens& tokens) {
  check_moved(session, to, tokens);
  auto& s = SessionAccess::impl(session);
  std::vector<StepToken> step;
  for (const std::int32_t id : s.ids.copy_of(tokens.from, tokens.begin, tokens.n))
    step.push_back({.token = id, .sequence = to});
  const std::int64_t at = session.length(to);
  s.last = {};
  s.memory.begin(step);
  const auto moves = [&](const auto& part) { return move_cells(session, *part, to, at, tokens); };
  try {
    if (!std::ranges::all_of(s.memory.parts(), moves)) {
      s.memory.rollback();
      return false;
    }
  } catch (...) {
    s.memory.rollback();
    throw;
  }
  s.keep_step(step);
  return true;
}

std::int64_t repeat_most_changed(Session& session, std::int32_t sequence, std::int64_t n,
                                 double share, const std::atomic<bool>* cancel) {
  auto& s = SessionAccess::impl(session);
  const std::int64_t begin = session.length(sequence) - n;
  const auto n_again =
      std::min(n, static_cast<std::int64_t>(std::ceil(share * static_cast<double>(n))));
  if (n_again < 1 || s.rotations.compared.empty()) return 0;
  std::vector<std::int64_t> positions(static_cast<std::size_t>(n));
  std::iota(positions.begin(), positions.end(), begin);
  if (n_again == n) {
    repeat(session, sequence, positions, true, cancel);
    return n;
  }
  const Compared before = read_compared(session, sequence, begin, n);
  repeat(session, sequence, positions, false, cancel);
  const std::vector<double> changed =
      deviations(before, read_compared(session, sequence, begin, n), n);
  std::ranges::stable_sort(positions, std::greater(), [&](std::int64_t position) {
    return changed[static_cast<std::size_t>(position - begin)];
  });
  positions.resize(static_cast<std::size_t>(n_again));
  std::ranges::sort(positions);
  repeat(session, sequence, positions, true, cancel);
  return n_again;
}

}  // namespace weft
