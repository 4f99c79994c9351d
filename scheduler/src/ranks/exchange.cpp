#include "ranks/exchange.h"

#include <algorithm>
#include <cstring>

#include "weft/backends/memory.h"
#include "weft/base/error.h"
#include "weft/base/no_destructor.h"
#include "weft/ops/ranks/collectives.h"

namespace weft::scheduler {

// Before the rows of each message, or before the text of an error.
struct Exchange::Header {
  enum State : std::int32_t { rows, failed, cancelled };
  std::int32_t run = 0;    // RankLink::runs()
  std::int32_t index = 0;  // counts the exchanges of the ranks that take part
  std::int32_t state = State::rows;
  std::int32_t left = 0;  // messages to the same rank after this one
};

namespace {

// Of rows, unless one row has more. MPIs send messages of up to 64 KiB over TCP at once, so that
// the system carries them while this rank computes.
constexpr std::int64_t kMessageBytes = 60 << 10;
constexpr std::int64_t kHeaderBytes = 16;
constexpr std::size_t kLongestError = 64 << 10;
// Tensors that a rank may send to the next stage before that takes them: enough for both to compute
// all the time.
constexpr int kMaxInFlight = 2;

class RanksBackend final : public Backend {
 public:
  std::string_view name() const override { return "ranks"; }
  std::string description() const override { return "exchanges with other ranks"; }
  std::optional<Kernel> find(const Graph&, const Node&) const override { return std::nullopt; }
};

void run_exchange(const KernelArgs& args, const Region&) noexcept {
  static_cast<Exchange*>(args.prepared)->run(args);
}

bool is_between_two(const OpDef& op) {
  return op.attrs == &kAttrsType<PeerAttrs>;
}

std::int64_t cols_of(const Node& node) {
  return is_between_two(*node.op) ? node.attrs.as<PeerAttrs>().cols
                                  : node.attrs.as<GroupAttrs>().cols;
}

const Shape& shape_of_rows(const Graph& graph, const Node& node) {
  return node.op == &kSend ? graph[node.inputs[0]].spec.shape : node.spec.shape;
}

SumChunks chunks_of(const Graph& graph, const Node& node) {
  if (node.op != &kAllReduce) return {.ends = {cols_of(node)}};
  return sum_chunks(node.attrs.as<GroupAttrs>().ranks, shape_of_rows(graph, node).rows().bound,
                    cols_of(node));
}

std::int64_t rows_per_message(const SumChunks& chunks) {
  return std::max<std::int64_t>(1, kMessageBytes / (chunks.widest() * 4));
}

// The bytes of the largest message.
std::int64_t message_bytes(const Graph& graph, const Node& node) {
  const SumChunks chunks = chunks_of(graph, node);
  const std::int64_t rows = shape_of_rows(graph, node).rows().bound;
  return align_up(kHeaderBytes + std::min(rows_per_message(chunks), rows) * chunks.widest() * 4);
}

}  // namespace

Kernel exchange_kernel(const Graph& graph, const Node& node) {
  static const NoDestructor<RanksBackend> backend;
  const std::int64_t buffers =
      is_between_two(*node.op) ? 1 : std::int64_t{node.attrs.as<GroupAttrs>().ranks};
  return {.row = node.op->name,
          .run = run_exchange,
          .scratch_bytes = buffers * message_bytes(graph, node),
          .splits = false,
          .backend = &*backend,
          .queued = true};  // one lane runs all of them, in the order of the graph
}

Exchange::Exchange(RankLink& link, const Graph& graph, const Node& node, std::size_t number,
                   const KernelArgs& args, KernelFailure& failure)
    : link_(link),
      failure_(failure),
      args_(args),
      number_(number),
      path_(node.path),
      op_(*node.op),
      cols_(cols_of(node)),
      chunks_(chunks_of(graph, node)),
      rows_per_message_(rows_per_message(chunks_)),
      buffer_bytes_(message_bytes(graph, node)),
      n_cols_(std::make_unique<std::atomic<std::int64_t>[]>(chunks_.ends.size())) {
  if (std::ssize(link.parcel_) < buffer_bytes_)
    link.parcel_.resize(static_cast<std::size_t>(buffer_bytes_));
  if (is_between_two(op_)) {
    const auto& a = node.attrs.as<PeerAttrs>();
    index_ = a.index;
    result_ = a.result;
    const bool sends = &op_ == &kSend;
    peers_ = {{.rank = a.peer, .receives = sends, .sends = !sends}};
    is_counted_ = !a.result;  // rank 0 waits for results
    if (!sends) sources_ = {0};
    return;
  }
  const auto& a = node.attrs.as<GroupAttrs>();
  index_ = a.index;
  first_ = a.first;
  const bool mutual = &op_ != &kBroadcast;
  for (int r = a.first; r < a.first + a.ranks; ++r) {
    const bool own = r == link.rank(), sends = mutual || r == a.first;
    if (sends) sources_.push_back(own ? kSelf : static_cast<int>(peers_.size()));
    if (own) continue;
    peers_.push_back({.rank = r, .receives = mutual || link.rank() == a.first, .sends = sends});
  }
}

// Number 0 is for sums, the others are for what this rank receives.
std::span<std::byte> Exchange::buffer(const KernelArgs& args, std::size_t i) const {
  const auto bytes = static_cast<std::size_t>(buffer_bytes_);
  return args.scratch.subspan(i * bytes, bytes);
}

void Exchange::run(const KernelArgs& args) noexcept {
  try {
    if (failed_early_) return;  // the failure was raised
    if (!is_skipped() && link_.communicator_) exchange(args);
    if (link_.ended_) return;
    finish();
    ++link_.done_;
  } catch (const RankError& error) {
    const std::string text = fmt::format("{} ({} '{}')", error.what(), op_.name, path_);
    link_.loss_ = RankError(error.rank(), text);
    link_.ended_ = true;
    failure_.raise(text);
  } catch (const std::exception& error) {
    failure_.raise(error.what());
  }
}

void Exchange::exchange(const KernelArgs& args) {
  link_.check();
  wait_for_credit();
  chunks_.scattered ? exchange_sums(args) : exchange_blocks(args);
  if (&op_ == &kSend) *args.out.row<float>(0) = 0;
}

// ---- messages

void Exchange::send_block(const View& x, const Block& block, bool sums) {
  const std::span<std::byte> message = link_.parcel_;
  const auto row_bytes = static_cast<std::size_t>(block.cols * 4);
  std::byte* to = message.data() + kHeaderBytes;
  for (std::int64_t r = 0; r < block.rows; ++r, to += row_bytes)
    std::memcpy(to, x.row<std::byte>(block.row + r) + block.col * 4, row_bytes);
  const auto bytes = static_cast<std::size_t>(to - message.data());
  for (Peer& peer : peers_) {
    const bool wants =
        !chunks_.scattered || sums || chunks_.is_owner(peer.rank - first_, block.chunk);
    if (peer.receives && wants) send_to(peer, message.first(bytes));
  }
}

void Exchange::send_to(Peer& peer, std::span<const std::byte> message) {
  Header header{
      .run = static_cast<std::int32_t>(link_.runs_),
      .index = index_,
      .left = static_cast<std::int32_t>(n_messages(link_.rank(), peer.rank) - peer.sent - 1)};
  static_assert(sizeof(header) == kHeaderBytes);
  std::memcpy(link_.parcel_.data(), &header, sizeof(header));
  link_.communicator_->send(peer.rank, Channel::data, message);
  ++peer.sent;
}

void Exchange::receive(Peer& peer, std::span<std::byte> room) {
  if (peer.ended)
    throw RankError(peer.rank, fmt::format("rank {} sent too few messages", peer.rank));
  Communicator& c = *link_.communicator_;
  const auto n = static_cast<std::size_t>(c.wait(peer.rank, Channel::data, link_.timeout));
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
  const auto run = static_cast<std::int32_t>(link_.runs_);
  if (header.run != run || header.index != index_)
    throw RankError(peer.rank,
                    fmt::format("rank {} is at exchange {} of step {}, this one at {} of {}",
                                peer.rank, header.index, header.run, index_, run));
  const std::int64_t left = n_messages(peer.rank, link_.rank()) - ++peer.received;
  if (header.state == Header::rows && header.left != left)
    throw RankError(peer.rank, fmt::format("rank {} has {} messages left, expected {}", peer.rank,
                                           header.left, left));
  peer.rows = message.subspan(sizeof(header));
  peer.ended = header.left == 0 || header.state != Header::rows;
  if (header.state == Header::rows || link_.ended_.exchange(true)) return;
  if (header.state == Header::failed)
    failure_.raise({reinterpret_cast<const char*>(peer.rows.data()), peer.rows.size()});
}

// Throws RankError unless these are as many bytes as its last message had.
void Exchange::expect_bytes(const Peer& peer, std::int64_t n) const {
  const std::int64_t got = std::ssize(peer.rows);
  if (got != n)
    throw RankError(peer.rank,
                    fmt::format("rank {} sent {} bytes of rows, expected {}", peer.rank, got, n));
}

void Exchange::give_up(const std::string& error) {
  if (is_skipped() || !link_.communicator_) return;
  const std::string_view text = std::string_view(error).substr(0, kLongestError);
  const Header header{.run = static_cast<std::int32_t>(link_.runs_),
                      .index = index_,
                      .state = error.empty() ? Header::cancelled : Header::failed};
  std::vector<std::byte> message(
      std::max<std::size_t>(sizeof(header) + text.size(), static_cast<std::size_t>(buffer_bytes_)));
  std::memcpy(message.data(), &header, sizeof(header));
  std::memcpy(message.data() + sizeof(header), text.data(), text.size());
  for (const Peer& peer : peers_)
    if (peer.receives && peer.sent < n_messages(link_.rank(), peer.rank))
      link_.communicator_->send(peer.rank, Channel::data,
                                std::span(message).first(sizeof(header) + text.size()));
  link_.ended_ = true;
  for (Peer& peer : peers_)
    while (peer.sends && !peer.ended) receive(peer, message);
  finish();
}

// ---- how far ranks may be ahead

void Exchange::wait_for_credit() {
  if (!is_counted_ || &op_ != &kSend) return;
  int& in_flight = link_.in_flight_[static_cast<std::size_t>(peers_[0].rank)];
  for (; in_flight >= kMaxInFlight; --in_flight)
    link_.communicator_->receive(peers_[0].rank, Channel::credit, {}, link_.timeout);
}

void Exchange::finish() {
  for (Peer& peer : peers_) peer.ended = false, peer.sent = peer.received = 0;
  next_ = 0;
  failed_early_ = false;
  for (std::size_t c = 0; c < chunks_.ends.size(); ++c) n_cols_[c] = 0;
  if (!is_counted_ || !link_.communicator_) return;
  if (&op_ == &kSend)
    ++link_.in_flight_[static_cast<std::size_t>(peers_[0].rank)];
  else
    give_credit();
}

// A rank that has sent its last tensor may have ended. If it is lost, the next wait for it says so.
void Exchange::give_credit() {
  try {
    link_.communicator_->send(peers_[0].rank, Channel::credit, {});
  } catch (const RankError&) {
  }
}

}  // namespace weft::scheduler
