#include "weft/arch/memory.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/ops/attention/cache_cells.h"
#include "weft/ops/attention/cache_write.h"
#include "weft/ops/attention/chosen_attention.h"
#include "weft/ops/positions/shift_positions.h"
#include "weft/ops/recurrent/centred_conv.h"
#include "weft/ops/rows/pad_heads.h"
#include "weft/ops/rows/slice_heads.h"

namespace weft::arch {
namespace {

// The suffix of inputs of the memory that the encoder leaves.
constexpr std::string_view kEncoded = ".encoded";

// The blocks of a pool that never runs out. Every sequence needs the window and kGuaranteedRewind
// tokens, which may begin and end within a block, and the tokens of a step, which may start a block
// each.
std::int64_t window_blocks(std::int64_t window, const MemorySizes& sizes) {
  const std::int64_t each = blocks_for(window - 1 + kGuaranteedRewind) + 2;
  return std::min(sizes.sequences * blocks_for(sizes.context),
                  sizes.sequences * each + blocks_for(sizes.step_tokens));
}

// Heads in caches are whole blocks of their type, with zeros at the end.
std::int64_t width_in(DType cache, std::int64_t e) {
  const std::int64_t block = cache.block_elems();
  return (e + block - 1) / block * block;
}
Tensor padded(Tensor x, std::int64_t width, SourceLine where) {
  return x.shape().last() == width ? x : pad_heads(x, width, where);
}
// The first `e` elements of what attention gives, under its name.
Tensor first_elements(Tensor y, std::int64_t e, std::string_view name, SourceLine where) {
  return (y.shape().last() == e ? y : slice_heads(y, 0, e, where)).named(name);
}

// For what writes the cells of all tokens.
void expect_every_position(std::int64_t stride) {
  if (stride > 1)
    fail<ValueError>("this memory needs a cell for every position, not for every {}", stride);
}

}  // namespace

// Keys and values in caches, and the width of a head of values, without padding.
struct Memory::Kept {
  Tensor keys, values;
  std::int64_t width = 0;
};

struct Memory::Requests {
  struct Stored {
    std::int64_t layer = 0, window = 0;
    Kept kept;
  };

  Graph& graph;
  Tensor pos;
  MemorySizes sizes;
  std::vector<MemoryPart> parts;
  std::vector<Stored> stored;  // by attend()

  // The sizes for the graph's own tokens: an encoder reads one text at a time.
  MemorySizes own_sizes() const {
    MemorySizes own = sizes;
    if (own.own == MemoryOf::text) own.sequences = 1, own.cells = own.kept = own.kept_tokens = 0;
    return own;
  }
};

// The cells of a step's tokens, and what the tokens attend to.
struct Memory::Cells {
  MemoryPart& part;
  Tensor cells;  // [T]
  AttentionRuns runs;
};

Memory::Memory(Graph& graph, Tensor pos, const MemorySizes& sizes)
    : requests_(new Requests{graph, pos, sizes, {}, {}}) {}

const std::vector<MemoryPart>& Memory::parts() const {
  return requests_->parts;
}

Memory Memory::window(std::int64_t n) const {
  if (n < 1) fail<ValueError>("a window must have at least 1 token, got {}", n);
  Memory windowed = *this;
  windowed.window_ = n;
  return windowed;
}

Memory Memory::both_ways(std::int64_t n) const {
  if (n < 0 || n == 1)
    fail<ValueError>("a window to both sides must be 0 or at least 2, got {}", n);
  Memory all = *this;
  all.both_ways_ = true;
  all.reach_ = n / 2;
  return all;
}

Memory Memory::chunks(std::int64_t n) const {
  if (n < 1) fail<ValueError>("a chunk must have at least 1 token, got {}", n);
  Memory chunked = *this;
  chunked.chunk_ = n;
  return chunked;
}

Memory Memory::every(std::int64_t n) const {
  if (n < 1) fail<ValueError>("a cell must have at least 1 position, got {}", n);
  Memory strided = *this;
  strided.stride_ = n;
  return strided;
}

Memory Memory::chosen(const Chosen& chosen) const {
  Memory some = *this;
  some.chosen_ = chosen;
  return some;
}

MemoryPart& Memory::part(const MemoryPart& wanted) const {
  std::vector<MemoryPart>& parts = requests_->parts;
  const auto same = [&](const MemoryPart& p) {
    return p.kind == wanted.kind && p.suffix == wanted.suffix && p.of == wanted.of;
  };
  const auto found = std::ranges::find_if(parts, same);
  return found != parts.end() ? *found : parts.emplace_back(wanted);
}

// Inputs have no scope: the first layer that needs one declares it.
Tensor Memory::input(const std::string& name, const Shape& shape, SourceLine where) const {
  Graph& graph = requests_->graph;
  const NodeId found = graph.find(name);
  return found != kNoNode ? graph.tensor(found) : graph.input(name, {i32, shape}, where);
}

Memory::Cells Memory::cells(SourceLine where) const {
  if (stride_ > 1 && (window_ > 0 || both_ways_ || chunk_ > 0))
    fail<ValueError>("cells for every {} positions have no windows, chunks or later tokens",
                     stride_);
  const MemorySizes sizes = requests_->own_sizes();
  const auto n_blocks = [&](std::int64_t positions) {
    return blocks_for((positions + stride_ - 1) / stride_);
  };
  const std::int64_t per_sequence = n_blocks(sizes.context);
  // Of cells that are not for every position, each sequence may need part of a block.
  const std::int64_t own = stride_ > 1 ? sizes.sequences : 0;
  const std::int64_t all = sizes.cells > 0 ? n_blocks(sizes.cells) + own  //
                                           : sizes.sequences * per_sequence;
  const std::int64_t kept = n_blocks(sizes.kept_tokens) + (stride_ > 1 ? sizes.kept : 0);
  const std::string suffix = window_ > 0   ? fmt::format(".w{}", window_)
                             : stride_ > 1 ? fmt::format(".every{}", stride_)
                                           : "";
  const Shape per_token{requests_->pos.shape()[0]};
  return {
      .part = part({.kind = "cells",
                    .suffix = suffix,
                    .of = sizes.own,
                    .window = window_,
                    .stride = stride_,
                    .n_rows = (window_ > 0 ? window_blocks(window_, sizes) : all) + kept,
                    .kept_rows = kept,
                    .grow_with = window_ > 0 ? RowsGrowWith::sequences : RowsGrowWith::cells}),
      .cells = input("cells" + suffix, per_token, where),
      .runs = runs(suffix, input("table" + suffix, {sizes.sequences, per_sequence}, where), where)};
}

AttentionRuns Memory::runs(const std::string& suffix, Tensor table, SourceLine where) const {
  const Tensor pos = requests_->pos;
  const Shape per_token{pos.shape()[0]};
  AttentionRuns runs{.table = table,
                     .table_row = input("table_row", per_token, where),
                     .first = input("first" + suffix, per_token, where),
                     .last = pos};
  if (both_ways_) runs.last = input("ends", per_token, where);
  if (stride_ > 1) runs.last = input("last" + suffix, per_token, where);
  if (reach_ > 0) {
    const auto reach = static_cast<std::int32_t>(reach_);
    runs.first = shift_positions(pos, {.offset = -reach}, {}, where);
    runs.last = shift_positions(pos, {.offset = reach}, runs.last, where);
  }
  if (chunk_ > 0)
    runs.first = shift_positions(pos, {.step = static_cast<std::int32_t>(chunk_)}, {}, where);
  return runs;
}

Tensor Memory::keep(const Cells& cells, const std::string& state, DType dtype, Tensor x,
                    SourceLine where) const {
  const std::int64_t width = width_in(dtype, x.shape()[2].bound);
  const Shape shape{cells.part.n_rows, x.shape()[1].bound, kCellsPerBlock, width};
  cells.part.states.push_back(state);
  return cache_write(requests_->graph.state(state, {dtype, shape}, where), padded(x, width, where),
                     cells.cells, where);
}

Tensor Memory::read(Tensor q, const Kept& kept, const Cells& cells, const AttentionAttrs& attrs,
                    const AttentionBias& bias, SourceLine where) const {
  const bool biased = bias.softcap != 0 || bias.alibi != 0 || bias.distances;
  if (chosen_.spans && biased)
    fail<ValueError>("attention to chosen positions has no softcap and no biases");
  const Tensor queries = padded(q, kept.keys.shape().last(), where);
  const Tensor y =
      chosen_.spans ? chosen_attention(queries, kept.keys, kept.values, cells.runs, chosen_.spans,
                                       {attrs.scale, chosen_.span}, bias.sinks, where)
                    : attention(queries, kept.keys, kept.values, cells.runs, attrs, bias, where);
  return first_elements(y, kept.width, "attn", where);
}

Chosen Memory::choose(std::int64_t layer, Tensor q, Tensor k, const ChoosePositionsAttrs& attrs,
                      Tensor weights, SourceLine where) const {
  const Cells at = cells(where);
  const std::string state = fmt::format("cache.index.{}", layer);
  const Tensor keys = keep(at, state, requests_->sizes.cache_k, k, where).named("cache_index");
  const Tensor queries = padded(q, keys.shape().last(), where);
  return {choose_positions(queries, keys, at.runs, attrs, weights, where).named("chosen"),
          attrs.span};
}

Tensor Memory::attend(std::int64_t layer, Tensor q, Tensor k, Tensor v, const AttentionAttrs& attrs,
                      const AttentionBias& bias, SourceLine where) const {
  expect_every_position(stride_);
  const Cells at = cells(where);
  const MemorySizes& sizes = requests_->sizes;
  const std::string_view cache = sizes.own == MemoryOf::text ? "text" : "cache";
  const Tensor keys =
      keep(at, fmt::format("{}.k.{}", cache, layer), sizes.cache_k, k, where).named("cache_k");
  const Tensor values =
      keep(at, fmt::format("{}.v.{}", cache, layer), sizes.cache_v, v, where).named("cache_v");
  const Kept kept{keys, values, v.shape().last()};
  requests_->stored.push_back({layer, window_, kept});
  return read(q, kept, at, attrs, bias, where);
}

Tensor Memory::attend_stored(std::int64_t layer, Tensor q, const AttentionAttrs& attrs,
                             const AttentionBias& bias, SourceLine where) const {
  expect_every_position(stride_);
  const auto same = [&](const Requests::Stored& s) {
    return s.layer == layer && s.window == window_;
  };
  const auto found = std::ranges::find_if(requests_->stored, same);
  if (found == requests_->stored.end())
    fail<ValueError>("layer {} stored no keys and values with a window of {}", layer, window_);
  const Kept kept = found->kept;
  return read(q, kept, cells(where), attrs, bias, where);
}

Tensor Memory::attend_latent(std::int64_t layer, Tensor q, Tensor c, const AttentionAttrs& attrs,
                             Tensor sinks, const LatentRun& more, SourceLine where) const {
  expect_every_position(stride_);
  const Cells at = cells(where);
  const std::string state = fmt::format("cache.latent.{}", layer);
  const Tensor kept = keep(at, state, requests_->sizes.cache_k, c, where).named("cache_latent");
  const std::int64_t width = c.shape().last();
  if (!more.cells) return read(q, {kept, kept, width}, at, attrs, {.sinks = sinks}, where);
  if (window_ == 0) fail<ValueError>("attention to further cells needs a window");
  const JoinedAttentionAttrs joined{attrs.scale, static_cast<std::int32_t>(window_)};
  const Tensor queries = padded(q, kept.shape().last(), where);
  const Tensor y = joined_attention(queries, {kept, at.runs, {}}, more, joined, sinks, where);
  return first_elements(y, width, "attn", where);
}

LatentRun Memory::keep_latent(std::int64_t layer, Tensor c, SourceLine where) const {
  if (chosen_.spans && chosen_.span != 1)
    fail<ValueError>("latent vectors are chosen one by one, not in spans of {}", chosen_.span);
  const Cells at = cells(where);
  const std::string state = fmt::format("cache.pooled.{}", layer);
  const Tensor kept = keep(at, state, requests_->sizes.cache_k, c, where).named("cache_pooled");
  return {kept, at.runs, chosen_.spans};
}

Tensor Memory::fixed_places(std::int64_t n, SourceLine where) const {
  if (n < 1) fail<ValueError>("fixed cells must be at least 1, got {}", n);
  return input(fmt::format("cells.fixed{}", n), {n}, where);
}

FixedCells Memory::keep_fixed(std::int64_t layer, Tensor c, SourceLine where) const {
  const std::int64_t n = c.shape()[0].bound, blocks = blocks_for(n);
  const std::string suffix = fmt::format(".fixed{}", n);
  const Tensor places = fixed_places(n, where);
  const Shape per_token{requests_->pos.shape()[0]};
  const AttentionRuns runs{
      .table = input("table" + suffix, {requests_->own_sizes().sequences, blocks}, where),
      .table_row = input("table_row", per_token, where),
      .first = input("first" + suffix, per_token, where),
      .last = input("last" + suffix, per_token, where)};
  const Cells at{part({.kind = "fixed",
                       .suffix = suffix,
                       .n_rows = blocks,
                       .grow_with = RowsGrowWith::nothing}),
                 places, runs};
  const std::string state = fmt::format("cache.fixed.{}", layer);
  const Tensor kept = keep(at, state, requests_->sizes.cache_k, c, where).named("cache_fixed");
  return {{kept, runs, {}}, static_cast<std::int32_t>(n)};
}

// The run whose length has a small limit comes first: kernels reserve memory for it alone, and for
// the chosen ones of the other.
Tensor Memory::attend_beside(std::int64_t layer, Tensor q, Tensor c, const AttentionAttrs& attrs,
                             const FixedCells& fixed, SourceLine where) const {
  expect_every_position(stride_);
  if (chosen_.spans && (window_ > 0 || chosen_.span != 1))
    fail<ValueError>("what is chosen beside fixed cells has neither windows nor spans");
  const Cells at = cells(where);
  const std::string state = fmt::format("cache.latent.{}", layer);
  const Tensor kept = keep(at, state, requests_->sizes.cache_k, c, where).named("cache_latent");
  const LatentRun own{kept, at.runs, chosen_.spans};
  const auto window = static_cast<std::int32_t>(window_);
  const Tensor queries = padded(q, kept.shape().last(), where);
  const Tensor y =
      window > 0 ? joined_attention(queries, own, fixed.run, {attrs.scale, window}, {}, where)
                 : joined_attention(queries, fixed.run, own, {attrs.scale, fixed.n}, {}, where);
  return first_elements(y, c.shape().last(), "attn_beside", where);
}

// [texts * blocks, G, 64, E]
Tensor Memory::encoded_state(const std::string& name, DType dtype, std::int64_t G, std::int64_t E,
                             SourceLine where) const {
  const MemorySizes& sizes = requests_->sizes;
  MemoryPart& encoded = part({.kind = "cells",
                              .suffix = std::string(kEncoded),
                              .of = MemoryOf::encoded,
                              .n_rows = sizes.sequences * blocks_for(sizes.context)});
  encoded.states.push_back(name);
  const Shape shape{encoded.n_rows, G, kCellsPerBlock, width_in(dtype, E)};
  return requests_->graph.state(name, {dtype, shape}, where);
}

void Memory::keep_encoded(std::int64_t layer, Tensor k, Tensor v, SourceLine where) const {
  const MemorySizes& sizes = requests_->sizes;
  const Tensor cells = input(fmt::format("cells{}", kEncoded), {requests_->pos.shape()[0]}, where);
  for (const auto& [name, dtype, x] :
       {std::tuple{"k", sizes.cache_k, k}, std::tuple{"v", sizes.cache_v, v}}) {
    const Tensor state = encoded_state(fmt::format("encoded.{}.{}", name, layer), dtype,
                                       x.shape()[1].bound, x.shape()[2].bound, where);
    cache_write(state, padded(x, state.shape().last(), where), cells, where)
        .named(fmt::format("encoded_{}", name));
  }
}

Tensor Memory::attend_encoded(std::int64_t layer, Tensor q, const KvShape& kv,
                              const AttentionAttrs& attrs, SourceLine where) const {
  const MemorySizes& sizes = requests_->sizes;
  const Shape per_token{requests_->pos.shape()[0]};
  const Tensor k =
      encoded_state(fmt::format("encoded.k.{}", layer), sizes.cache_k, kv.G, kv.E, where);
  const Tensor v =
      encoded_state(fmt::format("encoded.v.{}", layer), sizes.cache_v, kv.G, kv.Ev, where);
  const auto named = [](std::string_view name) { return fmt::format("{}{}", name, kEncoded); };
  const AttentionRuns runs{
      .table = input(named("table"), {sizes.sequences, blocks_for(sizes.context)}, where),
      .table_row = input("table_row", per_token, where),
      .first = input(named("first"), per_token, where),
      .last = input(named("last"), per_token, where)};
  const Tensor y = attention(padded(q, k.shape().last(), where), k, v, runs, attrs, {}, where);
  return first_elements(y, kv.Ev, "cross_attn", where);
}

MemoryPart& Memory::rows() const {
  const MemorySizes sizes = requests_->own_sizes();
  // While a step runs, the states before and after it both exist.
  const std::int64_t kept = sizes.kept + sizes.kept_tokens / sizes.lasting_every;
  return part({.kind = "rows",
               .n_rows = sizes.sequences * (kCheckpoints + 2 + sizes.rewind) + kept,
               .kept_rows = kept,
               .checkpoint_every = kCheckpointEvery,
               .lasting_every = sizes.lasting_every});
}

Tensor Memory::centred_conv(Tensor x, Tensor w, SourceLine where) const {
  if (!both_ways_) fail<ValueError>("a centred convolution needs memory that sees both ways");
  rows();
  return weft::centred_conv(x, w, input("before", {requests_->pos.shape()[0]}, where), where);
}

Recurrent Memory::recurrent(std::string_view name, const Shape& shape, SourceLine where) const {
  const Shape per_token{requests_->pos.shape()[0]};
  MemoryPart& rows = this->rows();
  const std::int64_t n_rows = rows.n_rows;
  std::vector<Dim> dims{Dim(n_rows)};
  dims.insert(dims.end(), shape.begin(), shape.end());
  Recurrent r;
  r.rows_.state =
      requests_->graph.state(fmt::format("recurrent.{}", name), {f32, Shape(dims)}, where);
  rows.states.push_back(fmt::format("recurrent.{}", name));
  r.rows_.from = input("rows_from", per_token, where);
  r.rows_.before = input("before", per_token, where);
  r.rows_.to = input("rows_to", per_token, where);
  return r;
}

}  // namespace weft::arch
