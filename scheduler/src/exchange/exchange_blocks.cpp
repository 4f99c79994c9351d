// How exchanges go through the blocks of a tensor.

#include <algorithm>
#include <cstring>

#include "weft/base/error.h"

#include "exchange/exchange.h"

namespace weft::scheduler {

Blocks Exchange::blocks() const {
  return {.chunks = layout_.chunks, .rows_per_message = rows_per_message_, .rows = rows()};
}

// That one rank sends another one.
std::int64_t Exchange::n_messages(int from, int to) const {
  return layout_.chunks.n_sent(from - first_, to - first_) * blocks().of_chunk();
}

std::int64_t Exchange::own_cols(const KernelArgs&, const Block& block) const {
  return block.cols;
}

void Exchange::check_rows(const KernelArgs&, const Peer& peer, const Block& block) const {
  expect_bytes(peer, block.rows * block.cols * 4);
}

// Sends this rank's blocks up to `end`.
void Exchange::send_until(const KernelArgs& args, std::int64_t end) {
  const Blocks all = blocks();
  for (; next_ < std::min(end, all.size()); ++next_) {
    Block own = all[next_];
    own.cols = own_cols(args, own);
    send_block(args.in[0], own, layout_.chunks.scattered);
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
    combine(args, next);
  }
}

// The same block of all ranks that send. False: the run ended on one of them.
bool Exchange::receive_all(const KernelArgs& args, const Block& block) {
  const std::size_t first_buffer = sources_.size() > 1 ? 1 : 0;
  for (std::size_t p = 0; p < peers_.size(); ++p) {
    Peer& peer = peers_[p];
    if (!peer.sends) continue;
    receive(peer, buffer(args, p + first_buffer));
    if (run_.ended) return false;
    check_rows(args, peer, block);
  }
  return true;
}

// Row r of a block of a peer, or of this rank.
std::span<const std::byte> Exchange::source_row(const KernelArgs& args, int source,
                                                const Block& block, std::int64_t r) const {
  if (source == kSelf)
    return {args.in[0].row<std::byte>(block.row + r) + block.col * 4,
            static_cast<std::size_t>(own_cols(args, block) * 4)};
  const std::span<const std::byte> rows = peers_[static_cast<std::size_t>(source)].rows;
  const std::size_t width = rows.size() / static_cast<std::size_t>(block.rows);
  return rows.subspan(static_cast<std::size_t>(r) * width, width);
}

// The rows of all sources, side by side.
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
  if (!run_.link.has_others())
    fail<UnsupportedError>("{} cannot be verified by a lone rank", name_);
  Communicator& communicator = run_.link.communicator();
  const std::int64_t n = rows();
  const auto add = [&](std::vector<std::byte> bytes) {
    const std::int64_t width = std::ssize(bytes) / n;
    if (width % 4 != 0 || width * n != std::ssize(bytes))
      fail<Error>("{} bytes of {} are no {} rows", bytes.size(), name_, n);
    View view{.dtype = f32, .n_dims = 2, .dims = {n, width / 4}, .row_stride = width};
    view.data = values.bytes.emplace_back(std::move(bytes)).data();
    values.views.push_back(view);
  };
  const bool sends = std::ranges::any_of(peers_, &Peer::receives);
  std::vector<std::byte> own;
  for (std::int64_t r = 0; (sends || std::ranges::count(sources_, kSelf) > 0) && r < n; ++r) {
    const std::byte* row = args.in[0].row<std::byte>(r);
    own.insert(own.end(), row, row + args.in[0].cols() * 4);
  }
  for (const Peer& peer : peers_)
    if (peer.receives) communicator.send(peer.rank, Channel::data, own);
  for (const int source : sources_) {
    add(source == kSelf ? own
                        : communicator.receive(peers_[static_cast<std::size_t>(source)].rank,
                                               Channel::data, run_.link.timeout()));
  }
  return values;
}

}  // namespace weft::scheduler
