#include "exchange/exchange.h"

#include <algorithm>
#include <cstring>

#include "weft/backends/memory.h"
#include "weft/base/error.h"

namespace weft::scheduler {

// Before the rows of each message, or before the text of an error.
struct Exchange::Header {
  enum State : std::int32_t { values, failed, cancelled };
  std::int32_t run = 0;    // RankLink::runs()
  std::int32_t index = 0;  // counts the exchanges of the ranks that take part
  std::int32_t state = State::values;
  std::int32_t left = 0;  // messages to the same rank after this one
};

namespace {

// Of rows, unless one row has more. MPIs send messages of up to 64 KiB over TCP at once, so that
// the system carries them while this rank computes.
constexpr std::int64_t kMessageBytes = 60 << 10;
constexpr std::int64_t kHeaderBytes = 16;
constexpr std::size_t kLongestError = 64 << 10;

}  // namespace

std::int64_t MessageLayout::rows_per_message() const {
  return std::max<std::int64_t>(1, kMessageBytes / (chunks.widest() * 4));
}

std::int64_t MessageLayout::message_bytes() const {
  return align_up(kHeaderBytes + std::min(rows_per_message(), max_rows) * chunks.widest() * 4);
}

Exchange::Exchange(const ExchangeSite& site, MessageLayout layout, int first, std::int32_t index)
    : run_(site.run),
      failure_(site.failure),
      args_(site.args),
      number_(site.number),
      name_(fmt::format("{} '{}'", site.node.op->name, site.node.path)),
      layout_(std::move(layout)),
      rows_per_message_(layout_.rows_per_message()),
      buffer_bytes_(layout_.message_bytes()),
      first_(first),
      index_(index) {
  if (std::ssize(run_.parcel) < buffer_bytes_)
    run_.parcel.resize(static_cast<std::size_t>(buffer_bytes_));
}

// Number 0 is for sums, the others are for what this rank receives.
std::span<std::byte> Exchange::buffer(const KernelArgs& args, std::size_t i) const {
  const auto bytes = static_cast<std::size_t>(buffer_bytes_);
  return args.scratch.subspan(i * bytes, bytes);
}

void Exchange::run(const KernelArgs& args) noexcept {
  try {
    if (has_failed_) return;
    if (!is_skipped() && run_.link.has_others()) {
      run_.check_computed();
      exchange(args);
    }
    if (run_.ended) return;
    finish();
    ++run_.done;
  } catch (const RankError& error) {
    const std::string text = fmt::format("{} ({})", error.what(), name_);
    run_.link.lose(RankError(error.rank(), text));
    run_.ended = true;
    failure_.raise(text);
  } catch (const std::exception& error) {
    failure_.raise(error.what());
  }
}

void Exchange::finish() {
  for (Peer& peer : peers_) peer.ended = false, peer.sent = peer.received = 0;
  next_ = 0;
  has_failed_ = false;
}

// ---- messages

// To those that add up the block's chunk, or to all.
void Exchange::send_block(const View& x, const Block& block, bool to_owner) {
  const std::span<std::byte> message = run_.parcel;
  const auto row_bytes = static_cast<std::size_t>(block.cols * 4);
  std::byte* to = message.data() + kHeaderBytes;
  for (std::int64_t r = 0; r < block.rows; ++r, to += row_bytes)
    std::memcpy(to, x.row<std::byte>(block.row + r) + block.col * 4, row_bytes);
  const auto bytes = static_cast<std::size_t>(to - message.data());
  for (Peer& peer : peers_) {
    const bool wants = !to_owner || layout_.chunks.is_owner(peer.rank - first_, block.chunk);
    if (peer.receives && wants) send_to(peer, message.first(bytes));
  }
}

void Exchange::send_to(Peer& peer, std::span<const std::byte> message) {
  const RankLink& link = run_.link;
  Header header{
      .run = static_cast<std::int32_t>(link.runs()),
      .index = index_,
      .left = static_cast<std::int32_t>(n_messages(link.rank(), peer.rank) - peer.sent - 1)};
  static_assert(sizeof(header) == kHeaderBytes);
  std::memcpy(run_.parcel.data(), &header, sizeof(header));
  link.communicator().send(peer.rank, Channel::data, message);
  ++peer.sent;
}

void Exchange::receive(Peer& peer, std::span<std::byte> room) {
  if (peer.ended)
    throw RankError(peer.rank, fmt::format("rank {} sent too few messages", peer.rank));
  Communicator& c = run_.link.communicator();
  const auto n = static_cast<std::size_t>(c.wait(peer.rank, Channel::data, run_.link.timeout()));
  std::vector<std::byte> text;  // if it is an error
  if (n > room.size()) {
    if (n > kHeaderBytes + kLongestError)
      throw RankError(peer.rank, fmt::format("rank {} sent {} bytes, expected at most {}",
                                             peer.rank, n, room.size()));
    text.resize(n);
    room = text;
  }
  c.take(peer.rank, Channel::data, room.first(n));
  read(peer, room.first(n));
}

void Exchange::read(Peer& peer, std::span<const std::byte> message) {
  Header header;
  if (message.size() < sizeof(header))
    throw RankError(peer.rank, fmt::format("rank {} sent {} bytes, expected at least {}", peer.rank,
                                           message.size(), sizeof(header)));
  std::memcpy(&header, message.data(), sizeof(header));
  const auto run = static_cast<std::int32_t>(run_.link.runs());
  if (header.run != run || header.index != index_)
    throw RankError(peer.rank,
                    fmt::format("rank {} is at exchange {} of step {}, this one at {} of {}",
                                peer.rank, header.index, header.run, index_, run));
  const std::int64_t left = n_messages(peer.rank, run_.link.rank()) - ++peer.received;
  if (header.state == Header::values && header.left != left)
    throw RankError(peer.rank, fmt::format("rank {} has {} messages left, expected {}", peer.rank,
                                           header.left, left));
  peer.rows = message.subspan(sizeof(header));
  peer.ended = header.left == 0 || header.state != Header::values;
  if (header.state == Header::values || run_.ended.exchange(true)) return;
  if (header.state == Header::failed)
    failure_.raise({reinterpret_cast<const char*>(peer.rows.data()), peer.rows.size()});
}

// Throws RankError unless the peer's last message had `n` bytes of rows.
void Exchange::expect_bytes(const Peer& peer, std::int64_t n) const {
  const std::int64_t got = std::ssize(peer.rows);
  if (got != n)
    throw RankError(peer.rank,
                    fmt::format("rank {} sent {} bytes of rows, expected {}", peer.rank, got, n));
}

void Exchange::give_up(const std::string& error) {
  if (is_skipped() || !run_.link.has_others()) return;
  const std::string_view text = std::string_view(error).substr(0, kLongestError);
  const Header header{.run = static_cast<std::int32_t>(run_.link.runs()),
                      .index = index_,
                      .state = error.empty() ? Header::cancelled : Header::failed};
  std::vector<std::byte> message(
      std::max<std::size_t>(sizeof(header) + text.size(), static_cast<std::size_t>(buffer_bytes_)));
  std::memcpy(message.data(), &header, sizeof(header));
  std::memcpy(message.data() + sizeof(header), text.data(), text.size());
  for (const Peer& peer : peers_)
    if (peer.receives && peer.sent < n_messages(run_.link.rank(), peer.rank))
      run_.link.communicator().send(peer.rank, Channel::data,
                                    std::span(message).first(sizeof(header) + text.size()));
  run_.ended = true;
  for (Peer& peer : peers_)
    while (peer.sends && !peer.ended) receive(peer, message);
  finish();
}

}  // namespace weft::scheduler
