#include "exchange/all_reduce.h"

#include <algorithm>
#include <cstring>

#include "weft/base/error.h"
#include "weft/ops/ranks/collectives.h"

namespace weft::scheduler {

AllReduce::AllReduce(const ExchangeSite& site)
    : GroupExchange(site, layout(site.graph, site.node), Senders::all),
      n_cols_(std::make_unique<std::atomic<std::int64_t>[]>(layout_.chunks.ends.size())) {}

MessageLayout AllReduce::layout(const Graph&, const Node& node) {
  const auto& a = node.attrs.as<GroupAttrs>();
  const std::int64_t rows = node.spec.shape.rows().bound;
  return {.chunks = sum_chunks(a.ranks, rows, a.cols), .max_rows = rows, .buffers = a.ranks};
}

// Terms to the ranks that add them up, in chunks of which all but the last one are under way while
// the projection computes the next ones; and the sums, if they are scattered.
Traffic AllReduce::traffic(const TrafficCase& c) {
  const double rate = c.multiply_adds_per_second;
  const double work = multiply_adds(c.graph, c.graph[c.node.inputs[0]], c.extents);
  const int ranks = c.node.attrs.as<GroupAttrs>().ranks;
  const auto chunks = layout(c.graph, c.node).chunks;
  const std::int64_t n = std::ssize(chunks.ends), others = ranks - 1;
  const std::int64_t bytes = c.bytes_of(c.input());
  const std::int64_t terms = chunks.scattered ? others * bytes / ranks : others * bytes;
  const std::int64_t sums = chunks.scattered ? others * bytes / ranks : 0;
  const double term_seconds = static_cast<double>(terms) / c.link.bytes_per_second;
  const double hidden = std::min(term_seconds, rate > 0 ? work / rate : 0) *
                        static_cast<double>(n - 1) / static_cast<double>(n);
  return {.exchanges = 1,
          .messages_out = chunks.scattered ? 2 * n * others / ranks : n * others,
          .bytes_out = terms + sums,
          .seconds = (chunks.scattered ? 2 : 1) * c.link.latency + term_seconds - hidden +
                     static_cast<double>(sums) / c.link.bytes_per_second};
}

void AllReduce::computed(std::int64_t col0, std::int64_t col1) noexcept {
  if (!run_.link.has_others()) return;
  const SumChunks& chunks = layout_.chunks;
  for (std::size_t c = 0; c < chunks.ends.size(); ++c) {
    const std::int64_t begin = std::max(col0, chunks.begin(c)),
                       end = std::min(col1, chunks.ends[c]);
    if (begin < end) n_cols_[c] += end - begin;
  }
  if (run_.done != number_ || run_.ended) return;
  const std::unique_lock lock(early_, std::try_to_lock);
  if (!lock || has_failed_) return;
  try {
    send_computed();
  } catch (const std::exception& error) {
    has_failed_ = true;
    failure_.raise(fmt::format("{} ({})", error.what(), name_));
  }
}

void AllReduce::send_computed() {
  const Blocks all = blocks();
  for (std::int64_t i = next_; i < all.size(); ++i) {
    const std::size_t chunk = all[i].chunk;
    if (n_cols_[chunk] < layout_.chunks.width(chunk)) return;
    run_.check_computed();
    send_until(args_, i + 1);
  }
}

void AllReduce::exchange(const KernelArgs& args) {
  layout_.chunks.scattered ? exchange_sums(args) : exchange_blocks(args);
}

void AllReduce::finish() {
  Exchange::finish();
  for (std::size_t c = 0; c < layout_.chunks.ends.size(); ++c) n_cols_[c] = 0;
}

// Terms to the ranks that add them up, own sums to all, then the sums of the others.
void AllReduce::exchange_sums(const KernelArgs& args) {
  const Blocks all = blocks();
  send_until(args, all.size());
  for (std::int64_t i = 0; i < all.size(); ++i) {
    const Block own = all[i];
    if (!layout_.chunks.is_owner(run_.link.rank() - first_, own.chunk)) continue;
    if (!receive_all(args, own)) return;
    combine(args, own);
    send_block(args.out, own, false);
  }
  for (std::int64_t i = 0; i < all.size() && !run_.ended; ++i) receive_sums(args, all[i]);
}

// A block of the rank that has added it up, unless it is this one.
void AllReduce::receive_sums(const KernelArgs& args, const Block& block) {
  for (std::size_t p = 0; p < peers_.size(); ++p) {
    if (!layout_.chunks.is_owner(peers_[p].rank - first_, block.chunk)) continue;
    receive(peers_[p], buffer(args, p + 1));
    if (run_.ended) return;
    check_rows(args, peers_[p], block);
    for (std::int64_t r = 0; r < block.rows; ++r) {
      const auto row = source_row(args, static_cast<int>(p), block, r);
      std::memcpy(args.out.row<std::byte>(block.row + r) + block.col * 4, row.data(), row.size());
    }
  }
}

// Adds up in the order of ranks. `out` may be the memory of this rank's term.
void AllReduce::combine(const KernelArgs& args, const Block& block) const {
  auto* const sum = reinterpret_cast<float*>(buffer(args, 0).data());
  const auto bytes = static_cast<std::size_t>(block.cols * 4);
  for (std::int64_t r = 0; r < block.rows; ++r) {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      const auto row = source_row(args, sources_[i], block, r);
      const auto* x = reinterpret_cast<const float*>(row.data());
      if (i == 0) {
        std::memcpy(sum, x, bytes);
      } else {
        for (std::int64_t c = 0; c < block.cols; ++c) sum[c] += x[c];
      }
    }
    std::memcpy(args.out.row<std::byte>(block.row + r) + block.col * 4, sum, bytes);
  }
}

}  // namespace weft::scheduler
