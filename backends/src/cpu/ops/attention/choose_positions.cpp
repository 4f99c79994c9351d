#include "weft/ops/attention/choose_positions.h"

#include <algorithm>
#include <limits>
#include <new>

#include <fmt/format.h>

#include "weft/backends/memory.h"
#include "weft/ops/attention/cache_cells.h"

#include "cpu/cache_kernels.h"
#include "cpu/cpu_ops.h"
#include "cpu/kernels/attention/index_scores.h"
#include "cpu/ops/attention/attention_runs.h"

namespace weft::cpu {
namespace {

static_assert(IndexScoresKernels::kCells == kCellsPerBlock);

struct Span {
  std::int32_t number = 0;
  float score = -std::numeric_limits<float>::infinity();
  std::int32_t priority = 0;  // above 0: always chosen, regardless of its score, the largest first
};

bool better(const Span& a, const Span& b) {
  return a.priority != b.priority ? a.priority > b.priority : a.score > b.score;
}

// Chooses from the scores of a run's positions, which come one after the other.
class Chooser {
 public:
  // `heap` has room for k spans. The run is first .. last.
  Chooser(Span* heap, std::int64_t k, std::int64_t first, std::int64_t last,
          const ChoosePositionsAttrs& a)
      : heap_(heap),
        k_(std::min(k, last / a.span - first / a.span + 1)),
        span_(a.span),
        first_preferred_(last / a.span - a.always + 1),
        end_(first / a.span * a.span) {}

  // The scores of the positions from `first` on, the next ones of the run.
  void offer(const float* scores, std::int64_t first, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      if (first + i >= end_) begin_span();
      current_.score = std::max(current_.score, scores[i]);
    }
  }
  // Writes the numbers of the chosen ones in ascending order and returns how many there are.
  std::int64_t finish(std::int32_t* chosen) {
    take_current();
    std::sort(heap_, heap_ + n_, [](const Span& a, const Span& b) { return a.number < b.number; });
    for (std::int64_t i = 0; i < n_; ++i) chosen[i] = heap_[i].number;
    return n_;
  }

 private:
  void begin_span() {
    take_current();
    const auto number = static_cast<std::int32_t>(end_ / span_);
    current_ = {.number = number, .priority = number >= first_preferred_ ? number + 1 : 0};
    open_ = true;
    end_ += span_;
  }
  // The first k make a heap with the worst at its root, which later ones that are better replace.
  void take_current() {
    if (!open_) return;
    if (n_ == k_) {
      if (better(current_, heap_[0])) put(0, current_);
      return;
    }
    heap_[n_++] = current_;
    for (std::int64_t i = n_ == k_ ? n_ / 2 : 0; i-- > 0;) put(i, heap_[i]);
  }
  // In place of heap_[hole], which moves down to a leaf along the worse children; the value moves
  // up from there. This order decides which of equal scores are chosen
  // (ops/attention/choose_positions.h).
  void put(std::int64_t hole, const Span value) {
    const std::int64_t root = hole;
    for (std::int64_t child = 2 * hole + 2; child <= n_; child = 2 * hole + 2) {
      if (child == n_ || better(heap_[child], heap_[child - 1])) --child;
      heap_[hole] = heap_[child];
      hole = child;
    }
    for (; hole > root && better(heap_[(hole - 1) / 2], value); hole = (hole - 1) / 2)
      heap_[hole] = heap_[(hole - 1) / 2];
    heap_[hole] = value;
  }

  Span* heap_;
  std::int64_t k_, n_ = 0, span_, first_preferred_;
  std::int64_t end_;  // end of the current span
  Span current_ = {};
  bool open_ = false;  // there is a current span
};

// Tokens whose scores are computed together, so that a block of keys is converted once for them.
std::int64_t tile_tokens(std::int64_t n_heads) {
  return std::max<std::int64_t>(1, 64 / n_heads);
}

// The parts of a tile's scratch memory, in order, in bytes.
struct Scratch {
  std::int64_t tile = 0;  // a block of keys: f32 [E rounded up][64]
  std::int64_t scores;    // scores of one token with the block: f32 [H][64]
  std::int64_t keys, q;   // doubles: as widen() leaves them; [tokens][H][E]
  std::int64_t choosers;  // [tokens][C]
  std::int64_t heaps;     // heaps of spans: [tokens][C][K]
  std::int64_t total;

  Scratch(std::int64_t n_heads, std::int64_t e, std::int64_t n_results, std::int64_t k) {
    const std::int64_t n_tokens = tile_tokens(n_heads), cells = kCellsPerBlock;
    scores = tile + 4 * AttentionScratch::up(e) * cells;
    keys = scores + 4 * n_heads * cells;
    q = keys + 8 * e * cells;
    choosers = q + 8 * n_tokens * n_heads * e;
    heaps = choosers + std::int64_t{sizeof(Chooser)} * n_tokens * n_results;
    total = align_up(heaps + std::int64_t{sizeof(Span)} * n_tokens * n_results * k);
  }
};

// Tokens t .. t + n_tokens - 1, of one sequence and with runs that begin at one position, and heads
// h0 .. h1 - 1 of their queries.
struct Tile {
  std::int64_t t, n_tokens, h0, h1;
};

template <class Arch>
class ChoosePositions {
 public:
  explicit ChoosePositions(const KernelArgs& args)
      : args_(args),
        e_(args.in[0].dim(2)),
        k_(args.out.dim(2)),
        weighted_(args.in[6]),
        at_(args.in[0].dim(1), e_, args.out.dim(1), k_),
        key_tile_((Attention<Arch>::run().*find_cache_kernels(args.in[1].dtype)->cells).key_tile) {}

  // Converts each block of keys once for all tokens.
  void run(const Tile& tile) const {
    const std::int32_t* last = ids(5) + tile.t;
    const std::int64_t first = ids(4)[tile.t],
                       end = *std::max_element(last, last + tile.n_tokens) + 1;
    start(tile);
    for (std::int64_t s = first - first % kCellsPerBlock; s < end; s += kCellsPerBlock) {
      take_keys(tile, s / kCellsPerBlock, std::min(kCellsPerBlock, end - s));
      const std::int64_t from = std::max(s, first);
      for (std::int64_t i = 0; i < tile.n_tokens; ++i)
        offer(tile, i, s, from, std::min(s + kCellsPerBlock, std::int64_t{last[i]} + 1));
    }
    for (std::int64_t i = 0; i < tile.n_tokens; ++i) finish(tile, i);
  }

 private:
  const std::int32_t* ids(std::size_t input) const {
    return args_.in[input].template row<const std::int32_t>(0);
  }
  template <class T>
  T* scratch(std::int64_t at) const {
    return reinterpret_cast<T*>(args_.scratch.data() + at);
  }
  float* scores() const { return scratch<float>(at_.scores); }
  double* queries(const Tile& tile, std::int64_t i) const {
    return scratch<double>(at_.q) + i * (tile.h1 - tile.h0) * e_;
  }
  std::int64_t n_results(const Tile& tile) const { return weighted_ ? 1 : tile.h1 - tile.h0; }
  Chooser* choosers(const Tile& tile, std::int64_t i) const {
    return scratch<Chooser>(at_.choosers) + i * n_results(tile);
  }

  void start(const Tile& tile) const {
    const auto& attrs = args_.attrs->as<ChoosePositionsAttrs>();
    const std::int64_t width = (tile.h1 - tile.h0) * e_, n = n_results(tile);
    for (std::int64_t i = 0; i < tile.n_tokens; ++i) {
      const std::int64_t t = tile.t + i;
      std::copy_n(floats(args_.in[0], t, tile.h0 * e_), width, queries(tile, i));
      for (std::int64_t c = 0; c < n; ++c) {
        Span* heap = scratch<Span>(at_.heaps) + (i * n + c) * k_;
        new (choosers(tile, i) + c) Chooser(heap, k_, ids(4)[t], ids(5)[t], attrs);
      }
    }
  }
  // Block `b` of the run. Only its first n cells are needed.
  void take_keys(const Tile& tile, std::int64_t b, std::int64_t n) const {
    const View& k = args_.in[1];
    const std::int64_t block = args_.in[2].template row<const std::int32_t>(ids(3)[tile.t])[b];
    const auto* cells = cell_at<const std::byte>(k, block * kCellsPerBlock, 0);
    key_tile_(cells, k.dtype.bytes(e_), n, e_, scratch<float>(at_.tile));
    kernels_.widen(scratch<float>(at_.tile), e_, scratch<double>(at_.keys));
  }
  // Offers the positions from .. to - 1 of the block that begins at s to token i.
  void offer(const Tile& tile, std::int64_t i, std::int64_t s, std::int64_t from,
             std::int64_t to) const {
    if (from >= to) return;
    const std::int64_t n_heads = tile.h1 - tile.h0;
    const View& weights = args_.in[6];
    kernels_.run({.keys = scratch<double>(at_.keys),
                  .n = to - s,
                  .e = e_,
                  .q = queries(tile, i),
                  .n_heads = n_heads,
                  .weights = weighted_ ? weights.row<const float>(tile.t + i) : nullptr,
                  .y = scores()});
    for (std::int64_t c = 0; c < n_results(tile); ++c)
      choosers(tile, i)[c].offer(scores() + c * kCellsPerBlock + from - s, from, to - from);
  }
  void finish(const Tile& tile, std::int64_t i) const {
    auto* chosen = args_.out.row<std::int32_t>(tile.t + i) + (weighted_ ? 0 : tile.h0) * k_;
    for (std::int64_t c = 0; c < n_results(tile); ++c, chosen += k_) {
      const std::int64_t n = choosers(tile, i)[c].finish(chosen);
      std::fill(chosen + n, chosen + k_, -1);
    }
  }

  const KernelArgs& args_;
  const std::int64_t e_, k_;
  const bool weighted_;
  const Scratch at_;
  decltype(AttentionCells::key_tile) key_tile_;
  IndexScoresKernels kernels_ = IndexScores<Arch>::run();
};

template <class Arch>
void run(const KernelArgs& args, const Region& region) noexcept {
  const ChoosePositions<Arch> choose(args);
  const auto row = [&](std::size_t i) { return args.in[i].row<const std::int32_t>(0); };
  const std::int64_t n_heads = args.in[0].dim(1), k = args.out.dim(2);
  const bool weighted(args.in[6]);
  const std::int64_t h0 = weighted ? 0 : region.col0 / k, h1 = weighted ? n_heads : region.col1 / k;
  for (std::int64_t t = region.row0; t < region.row1;) {
    const std::int64_t max_n = std::min(tile_tokens(n_heads), region.row1 - t);
    const std::int64_t n = same_run(row(3), row(4), t, max_n);
    choose.run({.t = t, .n_tokens = n, .h0 = h0, .h1 = h1});
    t += n;
  }
}

constexpr auto kRows = rows_of<IndexScores>([]<class Arch>() -> KernelFn { return run<Arch>; });

std::optional<Kernel> find(FeatureSet has, const Graph& graph, const Node& node) {
  const TensorSpec &q = graph[node.inputs[0]].spec, &k = graph[node.inputs[1]].spec;
  const CacheKernels* cache = find_cache_kernels(k.dtype);
  if (!cache) return std::nullopt;
  const Shape& out = node.spec.shape;
  const std::int64_t n_heads = q.shape[1].bound;
  const std::int64_t bytes = Scratch(n_heads, q.shape[2].bound, out[1].bound, out.last()).total;
  return with_row(
      fmt::format("choose_positions {}", cache->name), kRows, has,
      {.scratch_bytes = bytes, .granule = out.last(), .token_tiles = {tile_tokens(n_heads)}});
}

}  // namespace

extern const CpuOp kCpuChoosePositions{&kChoosePositions, find};

}  // namespace weft::cpu
