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
  std::int32_t index = 0;
  std::int32_t state = State::rows;
  std::int64_t rows_left = 0;  // after this message
};

namespace {

constexpr int kSelf = -1;
constexpr std::int64_t kMessageBytes = 256 << 10;  // of rows, unless one row has more
constexpr std::int64_t kHeaderBytes = 16;
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

// The same on all ranks of an exchange.
std::int64_t rows_per_message(std::int64_t cols) {
  return std::max<std::int64_t>(1, kMessageBytes / (cols * 4));
}

// The bytes of the largest message.
std::int64_t message_bytes(const Graph& graph, const Node& node) {
  const Shape& shape = node.op == &kSend ? graph[node.inputs[0]].spec.shape : node.spec.shape;
  const std::int64_t cols = cols_of(node);
  return align_up(kHeaderBytes + std::min(rows_per_message(cols), shape.rows().bound) * cols * 4);
}

}  // namespace

Kernel exchange_kernel(const Graph& graph, const Node& node) {
  static const NoDestructor<RanksBackend> backend;
  const std::int64_t buffers =
      is_between_two(*node.op) ? 2 : std::int64_t{node.attrs.as<GroupAttrs>().ranks};
  return {.row = node.op->name,
          .run = run_exchange,
          .scratch_bytes = buffers * message_bytes(graph, node),
          .splits = false,
          .backend = &*backend,
          .queued = true};  // one lane runs all of them, in the order of the graph
}

Exchange::Exchange(RankLink& link, const Graph& graph, const Node& node, KernelFailure& failure)
    : link_(link),
      failure_(failure),
      path_(node.path),
      op_(*node.op),
      cols_(cols_of(node)),
      buffer_bytes_(message_bytes(graph, node)) {
  if (is_between_two(op_)) {
    const auto& a = node.attrs.as<PeerAttrs>();
    index_ = a.index;
    result_ = a.result;
    if (&op_ == &kSend) to_ = {a.peer};
    if (&op_ == &kRecv) from_ = {{.rank = a.peer}}, sources_ = {0};
    return;
  }
  const auto& a = node.attrs.as<GroupAttrs>();
  index_ = a.index;
  const bool mutual = &op_ != &kBroadcast;
  for (int r = a.first; r < a.first + a.ranks; ++r) {
    const bool own = r == link.rank(), sends = mutual || r == a.first;
    if (!own && (mutual || link.rank() == a.first)) to_.push_back(r);
    if (sends) sources_.push_back(own ? kSelf : static_cast<int>(from_.size()));
    if (sends && !own) from_.push_back({.rank = r});
  }
}

// Number 0 is for what this rank sends, and for sums; the others are for what it receives.
std::span<std::byte> Exchange::buffer(const KernelArgs& args, std::size_t i) const {
  const auto bytes = static_cast<std::size_t>(buffer_bytes_);
  return args.scratch.subspan(i * bytes, bytes);
}

void Exchange::run(const KernelArgs& args) noexcept {
  try {
    if (!is_skipped()) exchange(args);
    if (link_.ended_) return;
    finish();
    ++link_.done_;
  } catch (const std::exception& error) {
    link_.broken_ = true;
    link_.ended_ = true;
    failure_.raise(fmt::format("{} ({} '{}')", error.what(), op_.name, path_));
  }
}

void Exchange::exchange(const KernelArgs& args) {
  if (!link_.communicator_) return;
  const std::int64_t rows = &op_ == &kSend ? args.in[0].rows() : args.out.rows();
  const std::int64_t step = rows_per_message(cols_);
  wait_for_credit();
  if (!to_.empty()) send(args, 0);
  for (std::int64_t first = 0; first < rows; first += step) {
    const std::int64_t n = std::min(step, rows - first);
    if (!to_.empty() && first + n < rows) send(args, first + n);
    for (std::size_t i = 0; i < from_.size(); ++i) receive(from_[i], buffer(args, i + 1));
    if (link_.ended_) return;
    &op_ == &kAllReduce ? add_up(args, first, n) : join(args, first, n);
  }
  if (&op_ == &kSend) *args.out.row<float>(0) = 0;
}

void Exchange::send(const KernelArgs& args, std::int64_t first) {
  const View& x = args.in[0];
  const std::int64_t n = std::min(rows_per_message(cols_), x.rows() - first);
  const Header header{.index = index_, .rows_left = x.rows() - first - n};
  static_assert(sizeof(header) == kHeaderBytes);
  const std::span<std::byte> message = buffer(args, 0);
  std::memcpy(message.data(), &header, sizeof(header));
  const auto row_bytes = static_cast<std::size_t>(x.cols() * 4);
  std::byte* to = message.data() + kHeaderBytes;
  for (std::int64_t r = 0; r < n; ++r, to += row_bytes)
    std::memcpy(to, x.row<std::byte>(first + r), row_bytes);
  const auto bytes = static_cast<std::size_t>(to - message.data());
  for (const int rank : to_) link_.communicator_->send(rank, Channel::data, message.first(bytes));
  told_ = header.rows_left == 0;
}

void Exchange::receive(Peer& peer, std::span<std::byte> room) {
  if (peer.ended) return;
  Communicator& c = *link_.communicator_;
  const auto n = static_cast<std::size_t>(c.wait(peer.rank, Channel::data, link_.timeout));
  std::vector<std::byte> text;  // if it is an error
  if (n > room.size()) {
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
  if (header.index != index_)
    throw RankError(peer.rank, fmt::format("rank {} is at exchange {} of its plan, this one at {}",
                                           peer.rank, header.index, index_));
  peer.rows = message.subspan(sizeof(header));
  peer.ended = header.rows_left == 0 || header.state != Header::rows;
  if (header.state == Header::rows || link_.ended_.exchange(true)) return;
  if (header.state == Header::failed)
    failure_.raise({reinterpret_cast<const char*>(peer.rows.data()), peer.rows.size()});
}

// Row r of the n rows that a source sent last, or that this rank has from row `first` on.
std::span<const std::byte> Exchange::source_row(const KernelArgs& args, int source,
                                                std::int64_t first, std::int64_t n,
                                                std::int64_t r) const {
  if (source == kSelf) {
    const View& x = args.in[0];
    return {x.row<std::byte>(first + r), static_cast<std::size_t>(x.cols() * 4)};
  }
  const std::span<const std::byte> rows = from_[static_cast<std::size_t>(source)].rows;
  const std::size_t width = rows.size() / static_cast<std::size_t>(n);
  return rows.subspan(static_cast<std::size_t>(r) * width, width);
}

// `out` may be the memory of this rank's term.
void Exchange::add_up(const KernelArgs& args, std::int64_t first, std::int64_t n) const {
  auto* const sum = reinterpret_cast<float*>(buffer(args, 0).data());
  const auto bytes = static_cast<std::size_t>(cols_ * 4);
  for (std::int64_t r = 0; r < n; ++r) {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      const auto row = source_row(args, sources_[i], first, n, r);
      const auto* x = reinterpret_cast<const float*>(row.data());
      if (i == 0) {
        std::memcpy(sum, x, bytes);
      } else {
        for (std::int64_t c = 0; c < cols_; ++c) sum[c] += x[c];
      }
    }
    std::memcpy(args.out.row<std::byte>(first + r), sum, bytes);
  }
}

void Exchange::join(const KernelArgs& args, std::int64_t first, std::int64_t n) const {
  for (std::int64_t r = 0; r < n; ++r) {
    std::size_t at = 0;
    for (const int source : sources_) {
      const auto row = source_row(args, source, first, n, r);
      std::memcpy(args.out.row<std::byte>(first + r) + at, row.data(), row.size());
      at += row.size();
    }
  }
}

// Whether it is between stages, of which the earlier ones must not run too far ahead. Results
// need no limit: rank 0 waits for them.
bool Exchange::is_counted() const {
  return is_between_two(op_) && !result_;
}

void Exchange::wait_for_credit() {
  if (!is_counted() || to_.empty()) return;
  int& in_flight = link_.in_flight_[static_cast<std::size_t>(to_.front())];
  for (; in_flight >= kMaxInFlight; --in_flight)
    link_.communicator_->receive(to_.front(), Channel::credit, {}, link_.timeout);
}

void Exchange::finish() {
  for (Peer& peer : from_) peer.ended = false;
  told_ = false;
  if (!is_counted() || !link_.communicator_) return;
  if (from_.empty())
    ++link_.in_flight_[static_cast<std::size_t>(to_.front())];
  else
    link_.communicator_->send(from_.front().rank, Channel::credit, {});
}

void Exchange::give_up(const std::string& error) {
  if (is_skipped() || !link_.communicator_) return;
  if (!told_) {
    const Header header{.index = index_,
                        .state = error.empty() ? Header::cancelled : Header::failed};
    std::vector<std::byte> message(sizeof(header) + error.size());
    std::memcpy(message.data(), &header, sizeof(header));
    std::memcpy(message.data() + sizeof(header), error.data(), error.size());
    for (const int rank : to_) link_.communicator_->send(rank, Channel::data, message);
  }
  link_.ended_ = true;
  std::vector<std::byte> unused(static_cast<std::size_t>(buffer_bytes_));
  for (Peer& peer : from_)
    while (!peer.ended) receive(peer, unused);
  finish();
}

Exchange::Values Exchange::share_values(const KernelArgs& args) {
  Values values;
  const View& x = args.in[0];
  const std::int64_t rows = &op_ == &kSend ? x.rows() : args.out.rows();
  const auto add = [&](std::vector<std::byte> bytes) {
    const auto width = static_cast<std::int64_t>(bytes.size()) / rows;
    View view{.dtype = f32, .rank = 2, .dims = {rows, width / 4}, .row_stride = width};
    view.data = values.bytes.emplace_back(std::move(bytes)).data();
    values.views.push_back(view);
  };
  std::vector<std::byte> own;
  if (&op_ != &kRecv) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::byte* row = x.row<std::byte>(r);
      own.insert(own.end(), row, row + x.cols() * 4);
    }
  }
  if (is_skipped()) return values;
  Communicator& c = *link_.communicator_;
  for (const int rank : to_) c.send(rank, Channel::data, own);
  if (&op_ == &kSend) add(own);
  for (const int source : sources_)
    add(source == kSelf ? own
                        : c.receive(from_[static_cast<std::size_t>(source)].rank, Channel::data,
                                    link_.timeout));
  return values;
}

}  // namespace weft::scheduler
