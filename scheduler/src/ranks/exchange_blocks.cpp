// What the exchanges of the kinds of collective ops send, receive and compute.

#include <algorithm>
#include <cstring>

#include "weft/base/error.h"
#include "weft/ops/ranks/collectives.h"

#include "ranks/exchange.h"

namespace weft::scheduler {

Blocks Exchange::blocks() const {
  return {.chunks = chunks_,
          .rows_per_message = rows_per_message_,
          .rows = &op_ == &kSend ? args_.in[0].rows() : args_.out.rows()};
}

// That one rank sends another one.
std::int64_t Exchange::n_messages(int from, int to) const {
  return chunks_.n_sent(from - first_, to - first_) * blocks().of_chunk();
}

// ---- exchanging them

// Sends this rank's blocks up to `end`.
void Exchange::send_until(const KernelArgs& args, std::int64_t end) {
  const Blocks all = blocks();
  for (; next_ < std::min(end, all.size()); ++next_) {
    Block own = all[next_];
    if (&op_ == &kAllGather) own.cols = args.in[0].cols();
    send_block(args.in[0], own, false);
  }
}

void Exchange::computed(std::int64_t col0, std::int64_t col1) noexcept {
  if (!link_.communicator_) return;
  for (std::size_t c = 0; c < chunks_.ends.size(); ++c) {
    const std::int64_t begin = std::max(col0, chunks_.begin(c)),
                       end = std::min(col1, chunks_.ends[c]);
    if (begin < end) n_cols_[c] += end - begin;
  }
  if (link_.done_ != number_ || link_.ended_) return;
  const std::unique_lock lock(early_, std::try_to_lock);
  if (!lock || failed_early_) return;
  try {
    const Blocks all = blocks();
    for (std::int64_t i = next_; i < all.size(); ++i) {
      const std::size_t chunk = all[i].chunk;
      if (n_cols_[chunk] < chunks_.width(chunk)) return;
      link_.check();
      send_until(args_, i + 1);
    }
  } catch (const std::exception& error) {
    failed_early_ = true;
    failure_.raise(fmt::format("{} ({} '{}')", error.what(), op_.name, path_));
  }
}

// The blocks of all ranks, while the next ones are under way.
void Exchange::exchange_blocks(const KernelArgs& args) {
  const bool sends = std::ranges::any_of(peers_, &Peer::receives);
  const Blocks all = blocks();
  for (std::int64_t i = 0; i < all.size(); ++i) {
    if (sends) send_until(args, i + 2);
    const Block next = all[i];
    if (!receive_all(args, next)) return;
    if (&op_ == &kAllReduce)
      add_up(args, next);
    else if (&op_ != &kSend)
      join(args, next);
  }
}

// Terms to the ranks that add them up, own sums to all, then the sums of the others.
void Exchange::exchange_sums(const KernelArgs& args) {
  const Blocks all = blocks();
  send_until(args, all.size());
  for (std::int64_t i = 0; i < all.size(); ++i) {
    const Block own = all[i];
    if (!chunks_.is_owner(link_.rank() - first_, own.chunk)) continue;
    if (!receive_all(args, own)) return;
    add_up(args, own);
    send_block(args.out, own, true);
  }
  for (std::int64_t i = 0; i < all.size(); ++i) {
    const Block other = all[i];
    for (std::size_t p = 0; p < peers_.size(); ++p) {
      if (!chunks_.is_owner(peers_[p].rank - first_, other.chunk)) continue;
      receive(peers_[p], buffer(args, p + 1));
      if (link_.ended_) return;
      expect_bytes(peers_[p], other.rows * other.cols * 4);
      for (std::int64_t r = 0; r < other.rows; ++r) {
        const auto row = source_row(args, static_cast<int>(p), other, r);
        std::memcpy(args.out.row<std::byte>(other.row + r) + other.col * 4, row.data(), row.size());
      }
    }
  }
}

// The same block of all ranks that send. False: the run ended on one of them.
bool Exchange::receive_all(const KernelArgs& args, const Block& block) {
  std::int64_t width = &op_ == &kAllGather ? args.in[0].cols() : 0;  // sum of the ranks
  const std::size_t first_buffer = sources_.size() > 1 ? 1 : 0;
  for (std::size_t p = 0; p < peers_.size(); ++p) {
    Peer& peer = peers_[p];
    if (!peer.sends) continue;
    receive(peer, buffer(args, p + first_buffer));
    if (link_.ended_) return false;
    if (&op_ != &kAllGather) {
      expect_bytes(peer, block.rows * block.cols * 4);
    } else {
      const std::int64_t cols = std::ssize(peer.rows) / (block.rows * 4);
      expect_bytes(peer, block.rows * std::min(cols, cols_ - width) * 4);
      width += cols;
    }
  }
  if (&op_ == &kAllGather && width != cols_)
    throw RankError(link_.rank(), fmt::format("the ranks have {} columns of {}", width, cols_));
  return true;
}

// Row r of a block of a peer, or of this rank.
std::span<const std::byte> Exchange::source_row(const KernelArgs& args, int source,
                                                const Block& block, std::int64_t r) const {
  if (source == kSelf) {
    const std::int64_t cols = &op_ == &kAllGather ? args.in[0].cols() : block.cols;
    return {args.in[0].row<std::byte>(block.row + r) + block.col * 4,
            static_cast<std::size_t>(cols * 4)};
  }
  const std::span<const std::byte> rows = peers_[static_cast<std::size_t>(source)].rows;
  const std::size_t width = rows.size() / static_cast<std::size_t>(block.rows);
  return rows.subspan(static_cast<std::size_t>(r) * width, width);
}

// `out` may be the memory of this rank's term.
void Exchange::add_up(const KernelArgs& args, const Block& block) const {
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

void Exchange::join(const KernelArgs& args, const Block& block) const {
  for (std::int64_t r = 0; r < block.rows; ++r) {
    std::size_t at = 0;
    for (const int source : sources_) {
      const auto row = source_row(args, source, block, r);
      std::memcpy(args.out.row<std::byte>(block.row + r) + at, row.data(), row.size());
      at += row.size();
    }
  }
}

// ---- for verification

Exchange::Values Exchange::share_values(const KernelArgs& args) {
  Values values;
  if (is_skipped()) return values;
  if (!link_.communicator_) fail<UnsupportedError>("'{}' cannot be verified by a lone rank", path_);
  const std::int64_t n = blocks().rows;
  const auto add = [&](std::vector<std::byte> bytes) {
    const std::int64_t width = std::ssize(bytes) / n;
    if (width % 4 != 0 || width * n != std::ssize(bytes))
      fail<Error>("{} bytes of '{}' are no {} rows", bytes.size(), path_, n);
    View view{.dtype = f32, .rank = 2, .dims = {n, width / 4}, .row_stride = width};
    view.data = values.bytes.emplace_back(std::move(bytes)).data();
    values.views.push_back(view);
  };
  std::vector<std::byte> own;
  for (std::int64_t r = 0; &op_ != &kRecv && r < n; ++r) {
    const std::byte* row = args.in[0].row<std::byte>(r);
    own.insert(own.end(), row, row + args.in[0].cols() * 4);
  }
  for (const Peer& peer : peers_)
    if (peer.receives) link_.communicator_->send(peer.rank, Channel::data, own);
  if (&op_ == &kSend) add(own);
  for (const int source : sources_) {
    add(source == kSelf
            ? own
            : link_.communicator_->receive(peers_[static_cast<std::size_t>(source)].rank,
                                           Channel::data, link_.timeout));
  }
  return values;
}

}  // namespace weft::scheduler
