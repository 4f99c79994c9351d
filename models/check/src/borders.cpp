#include "borders.h"

#include <algorithm>
#include <random>
#include <ranges>
#include <set>

#include "weft/arch/memory.h"
#include "weft/base/error.h"
#include "weft/ops/attention/cache_cells.h"
#include "weft/ops/positions/shift_positions.h"
#include "weft/run/memory_plan.h"

namespace weft::checks {
namespace {

// The number of multiplications with weights that take about a second, and that all steps across
// boundaries may take together.
constexpr std::int64_t kPerSecond = 100'000'000'000, kMaxMultiplications = 25 * kPerSecond;

// The time of the scalar definition of a projection, relative to its kernel.
constexpr std::int64_t kDefinitionCost = 1000;

constexpr std::int64_t kFirstBlock = kCellsPerBlock + kMargin;

using Numbers = std::set<std::int64_t>;

std::vector<std::int64_t> to_vector(const Numbers& numbers) {
  return {numbers.begin(), numbers.end()};
}

std::int64_t n_params(const Model& model) {
  return std::max<std::int64_t>(model.facts().n_params, 1);
}

std::int64_t max_context(const Model& model, const SessionOptions& options) {
  std::int64_t context = model.facts().context;
  for (const std::int64_t limit : {options.context, options.cells})
    if (limit > 0) context = std::min(context, limit);
  return context;
}

// A whole number of blocks and the tokens just past the last one: tokens between two boundaries
// cost time and test nothing.
std::int64_t n_random(const Model& model, const SessionOptions& options) {
  const std::int64_t widest = std::max(options.prefill_width + kMargin, kFirstBlock);
  const std::int64_t n = std::clamp(kPerSecond / n_params(model), kFirstBlock, widest);
  return std::min((n - kMargin) / kCellsPerBlock * kCellsPerBlock + kMargin,
                  max_context(model, options));
}

void add_memory_lengths(const std::vector<arch::MemoryPart>& parts, Numbers& lengths) {
  for (const arch::MemoryPart& part : parts) {
    if (part.checkpoint_every > 0) lengths.insert(part.checkpoint_every);
    if (part.window > 0) lengths.insert(part.window);
    if (part.stride > 1) lengths.insert({part.stride, part.stride * kCellsPerBlock});
  }
}

// Chunks of attention: positions are rounded down to the first one of their chunk.
void add_chunks(const Graph& graph, Numbers& lengths) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].op != &kShiftPositions) continue;
    const std::int64_t chunk = graph[id].attrs.as<ShiftAttrs>().step;
    if (chunk > 1) lengths.insert(chunk);
  }
}

void add_tiles(const Graph& graph, const Assignment& assignment, Numbers& widths) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].kind != NodeKind::op) continue;
    const auto kernel = assignment.find(graph, graph[id]);
    if (kernel) widths.insert(kernel->token_tiles.begin(), kernel->token_tiles.end());
  }
}

bool fits_context(const Model& model, SessionOptions options, std::int64_t context) {
  options.context = context;
  return fits_budget(model, options);
}

}  // namespace

Borders borders_of(const PlannedModel& planned, std::int64_t n_tokens) {
  Numbers lengths, widths;
  const std::int64_t last = (n_tokens - kMargin) / kCellsPerBlock * kCellsPerBlock;
  if (last > 0) lengths.insert({kCellsPerBlock, last});
  add_memory_lengths(planned.memory_parts, lengths);
  for (std::size_t i = 0; i < planned.graphs.size(); ++i) {
    add_chunks(planned.graphs[i], lengths);
    widths.insert(planned.plans[i].variables.front().bound);
    add_tiles(planned.graphs[i], planned.assignments[i], widths);
  }
  std::erase_if(widths, [](std::int64_t width) { return width <= 1; });
  return {to_vector(lengths), to_vector(widths)};
}

BorderInputs border_inputs(const Model& model, const SessionOptions& options) {
  BorderInputs inputs{.n_tokens = n_random(model, options)};
  const std::int64_t limit = max_context(model, options);
  SessionOptions o = options;
  o.context = std::min(limit, std::max(options.prefill_width + kMargin, kFirstBlock));
  inputs.borders = borders_of(plan_model(model, o), inputs.n_tokens);
  auto& [lengths, widths] = inputs.borders;
  std::erase_if(lengths, [&](std::int64_t n) { return n + kMargin > limit; });
  std::erase_if(widths, [&](std::int64_t n) {
    return n > std::min(limit, options.prefill_width) ||
           (n >= inputs.n_tokens && n > kPerSecond / n_params(model) * 3 / 2);
  });
  const std::int64_t widest = widths.empty() ? 1 : std::min(widths.back() + 1, limit);
  const std::int64_t near = std::max(inputs.n_tokens, widest);
  while (!lengths.empty() && lengths.back() + kMargin > near &&
         !fits_context(model, options, lengths.back() + kMargin))
    lengths.pop_back();
  inputs.context = std::max(near, lengths.empty() ? 1 : lengths.back() + kMargin);
  return inputs;
}

std::vector<std::int32_t> random_ids(const Model& model, std::int64_t n) {
  std::mt19937 random(1);
  std::vector<std::int32_t> ids;
  const auto n_vocab = static_cast<std::uint64_t>(model.facts().n_vocab);
  while (std::ssize(ids) < n) ids.push_back(static_cast<std::int32_t>(random() % n_vocab));
  return ids;
}

std::vector<std::int32_t> text_for(const Session& session) {
  const SessionOptions& o = session.options();
  return random_ids(session.model(), std::min({kFirstBlock, o.prefill_width, o.context}));
}

void encode_in_all_sequences(Session& session) {
  if (!session.model().facts().encodes) return;
  const std::vector<std::int32_t> text = text_for(session);
  for (std::int32_t i = 0; i < session.options().sequences; ++i) session.encode(i, text);
}

std::vector<BorderStep> border_steps(const Borders& borders, std::int64_t max_width,
                                     std::int64_t context) {
  std::vector<BorderStep> steps;
  const auto add = [&](std::int64_t at, std::int64_t n) {
    const BorderStep step{std::max<std::int64_t>(std::min(at, context - n), 0), n};
    if (n <= std::min(max_width, context) && std::ranges::find(steps, step) == steps.end())
      steps.push_back(step);
  };
  for (const std::int64_t length : borders.lengths) {
    const bool first = length == borders.lengths.front();
    const std::int64_t n = std::min(first ? length + kMargin : 2 * kMargin, max_width);
    add(length + kMargin - n, n);
    add(length - 1, 1);
    add(length, 1);
  }
  const std::int64_t border = borders.lengths.empty() ? 0 : borders.lengths.front();
  for (const std::int64_t width : borders.widths) {
    for (const std::int64_t n : {width, width + 1}) add(border - n / 2, n);
  }
  return steps;
}

std::vector<std::vector<std::size_t>> passes_across_widths(const Borders& borders,
                                                           std::int64_t n_tokens,
                                                           std::int64_t max_width) {
  Numbers sizes;
  for (const std::int64_t width : borders.widths) sizes.insert({width, width + 1});
  std::erase_if(sizes, [&](std::int64_t size) { return size > std::min(max_width, n_tokens); });
  struct Pass {
    std::vector<std::size_t> steps;
    std::int64_t left;
    void add(std::int64_t size) {
      steps.push_back(static_cast<std::size_t>(size));
      left -= size;
    }
  };
  std::vector<Pass> passes{{{}, n_tokens}};
  for (const std::int64_t size : std::views::reverse(sizes)) {
    const auto fits = std::ranges::find_if(passes, [&](const Pass& p) { return p.left >= size; });
    Pass& pass = fits == passes.end() ? passes.emplace_back(Pass{{}, n_tokens}) : *fits;
    pass.add(size);
  }
  std::vector<std::vector<std::size_t>> all;
  for (Pass& pass : passes) {
    while (pass.left > 0) pass.add(std::min(pass.left, max_width));
    all.push_back(std::move(pass.steps));
  }
  return all;
}

std::size_t n_affordable(const Model& model, std::span<const BorderStep> steps) {
  const std::int64_t per_layer =
      n_params(model) / std::max<std::int64_t>(model.facts().n_layers, 1);
  std::int64_t left = kMaxMultiplications;
  std::size_t n = 0;
  for (; n < steps.size(); ++n) {
    left -= steps[n].n * n_params(model);
    if (steps[n].n > 1) left -= kDefinitionCost * (1 + kMargin) * per_layer;
    if (left < 0 && n >= kBestBorderSteps) break;
  }
  return n;
}

}  // namespace weft::checks
