#include "weft/serve/context_end.h"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/base/error.h"
#include "weft/run/dropped_tokens.h"

namespace weft {
namespace {

constexpr std::array<std::string_view, 4> kNames{"stop", "shift", "window", "evict"};
// How many tokens a window drops at once: a drop takes time, and rounds keys.
constexpr std::int64_t kMinDrop = 64, kMaxDrop = 256;

// The newest tokens that stay at least.
std::int64_t newest_of(const Session& session, std::int64_t length, ContextEnd end) {
  const std::int64_t n = min_newest_tokens(session);
  return end == ContextEnd::evict ? std::max(n, length / 4) : n;
}

std::int64_t wanted_drop(const ContextEndOptions& o, std::int64_t length, std::int64_t keep) {
  const std::int64_t half = (length - keep) / 2;
  if (o.end == ContextEnd::evict) return length - (o.cells > 0 ? o.cells : length / 2);
  if (o.discard > 0) return o.discard;
  return o.end == ContextEnd::window ? std::min(std::clamp(length / 16, kMinDrop, kMaxDrop), half)
                                     : half;
}

std::int64_t keep_of(const ContextEndOptions& options, std::int64_t length, std::int64_t n_prompt) {
  return std::min(options.keep < 0 ? n_prompt : options.keep, length);
}

std::int64_t n_to_drop(const Session& session, const ContextEndOptions& options,
                       std::int64_t length, std::int64_t keep) {
  return std::min(wanted_drop(options, length, keep),
                  length - newest_of(session, length, options.end) - keep);
}

// Without `n` of the positions begin .. end - 1, those with the longest keys.
std::vector<TokenRange> without_longest(const std::vector<float>& lengths, std::int64_t begin,
                                        std::int64_t end, std::int64_t n) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(end - begin));
  std::iota(order.begin(), order.end(), begin);
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::int64_t position) {
    return lengths[static_cast<std::size_t>(position)];
  });
  order.resize(static_cast<std::size_t>(n));
  std::ranges::sort(order);
  order.push_back(std::ssize(lengths));
  std::vector<TokenRange> kept;
  std::int64_t from = 0;
  for (const std::int64_t dropped : order) {
    if (dropped > from) kept.push_back({from, dropped});
    from = dropped + 1;
  }
  return kept;
}

void refuse_unless_empty(std::string_view why, const Model& model,
                         const ContextEndOptions& options) {
  if (!why.empty())
    fail<UnsupportedError>("{}: texts cannot go on at the end of the context ({}): {}",
                           model.file().path(), name_of_value(options.end), why);
}

}  // namespace

std::vector<std::string> value_names(ContextEnd) {
  return {kNames.begin(), kNames.end()};
}

std::string name_of_value(ContextEnd end) {
  return std::string(kNames[static_cast<std::size_t>(end)]);
}

void set_by_name(ContextEnd& end, std::string_view option, std::string_view name) {
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end())
    fail<ValueError>("`{}` must be one of {}, got '{}'", option, fmt::join(kNames, ", "), name);
  end = static_cast<ContextEnd>(found - kNames.begin());
}

void check_context_end(const Model& model, const ContextEndOptions& options) {
  if (options.end != ContextEnd::stop) refuse_unless_empty(why_not_dropped(model), model, options);
}

void check_context_end(const Session& session, const ContextEndOptions& options) {
  if (options.end == ContextEnd::stop) return;
  std::string why = why_not_dropped(session);
  if (why.empty() && options.end == ContextEnd::evict && !has_measured_keys(session))
    why = "no layer that sees all tokens rotates its keys";
  refuse_unless_empty(why, session.model(), options);
  const std::string name = name_of_value(options.end);
  const std::int64_t context = session.options().context,
                     keep = std::max<std::int64_t>(options.keep, 0);
  if (options.end == ContextEnd::evict && options.cells >= context)
    fail<ValueError>("of a context of {} tokens, {} cannot stay when tokens are evicted", context,
                     options.cells);
  const std::int64_t newest = newest_of(session, context, options.end);
  if (keep + newest >= context)
    fail<ValueError>("the context holds {} tokens: too few to keep {} and the {} newest ({})",
                     context, keep, newest, name);
}

bool goes_on(const Session& session, const ContextEndOptions& options, std::int64_t n_prompt) {
  if (options.end == ContextEnd::stop) return false;
  const std::int64_t context = session.options().context;
  return n_to_drop(session, options, context, keep_of(options, context, n_prompt)) > 0;
}

std::vector<TokenRange> kept_tokens(const Session& session, std::int32_t sequence,
                                    const ContextEndOptions& options, std::int64_t n_prompt) {
  const std::int64_t length = session.length(sequence);
  const std::int64_t keep = keep_of(options, length, n_prompt);
  const std::int64_t n = n_to_drop(session, options, length, keep);
  if (n < 1) return {{0, length}};
  if (options.end == ContextEnd::evict)
    return without_longest(key_lengths(session, sequence), keep,
                           length - newest_of(session, length, options.end), n);
  if (keep == 0) return {{n, length}};
  return {{0, keep}, {keep + n, length}};
}

}  // namespace weft
