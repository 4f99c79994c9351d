#include "streaming/read_queue.h"

#include <algorithm>
#include <utility>

#include "weft/base/error.h"

namespace weft::run {
namespace {

constexpr auto kBlock = static_cast<std::int64_t>(kReadAlignment);

std::int64_t round_up(std::int64_t n) {
  return (n + kBlock - 1) / kBlock * kBlock;
}

std::int64_t head_of(std::uint64_t offset) {
  return static_cast<std::int64_t>(offset % kReadAlignment);
}

}  // namespace

std::int64_t FilePiece::place_bytes(std::uint64_t offset, std::int64_t bytes) {
  return round_up(head_of(offset) + bytes);
}

std::int64_t FilePiece::max_place_bytes(std::int64_t bytes) {
  return round_up(bytes + kBlock - 1);
}

ReadQueue::ReadQueue(std::span<const std::string> paths, Options options)
    : paths_(paths.begin(), paths.end()), options_(std::move(options)) {
  queue_.reserve(options_.max_fills);
  const auto done = [this](const FileRead& read, const ReadFailure* failure) {
    this->done(read, failure);
  };
  const FileReadOptions with{.depth = options_.depth};
  reads_ = options_.open ? options_.open(paths_, done, with) : open_file_reads(paths_, done, with);
}

ReadQueue::~ReadQueue() {
  drain();
}

void ReadQueue::start(Fill& fill) noexcept {
  const std::lock_guard lock(mutex_);
  if (failed()) return;
  fill.ready.store(false, std::memory_order_relaxed);
  fill.next_piece = 0;
  fill.next_at = 0;
  fill.reading = 0;
  insert(fill);
  pump();
}

void ReadQueue::insert(Fill& fill) noexcept {
  const auto not_urgent = [](const Fill* f) { return !f->urgent; };
  queue_.insert(fill.urgent ? std::ranges::find_if(queue_, not_urgent) : queue_.end(), &fill);
}

void ReadQueue::hurry(Fill& fill) noexcept {
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find(queue_, &fill);
  fill.urgent = true;
  if (at == queue_.end()) return;
  queue_.erase(at);
  insert(fill);
}

void ReadQueue::pump() noexcept {
  while (!queue_.empty() && reading_ < options_.depth && !failed()) {
    if (!start_read(*queue_.front())) queue_.erase(queue_.begin());
  }
}

// Starts the fill's next read. Returns false if it was the last one.
bool ReadQueue::start_read(Fill& fill) noexcept {
  const FilePiece& piece = fill.pieces[fill.next_piece];
  const std::int64_t all = FilePiece::place_bytes(piece.offset, piece.bytes);
  const std::int64_t size = std::min(options_.block, all - fill.next_at);
  const std::int64_t begin = static_cast<std::int64_t>(piece.offset) - head_of(piece.offset);
  const std::int64_t end = static_cast<std::int64_t>(piece.offset) + piece.bytes;
  const std::int64_t at = begin + fill.next_at;
  const FileRead read{.file = piece.file,
                      .offset = static_cast<std::uint64_t>(at),
                      .to = {piece.place + fill.next_at, static_cast<std::size_t>(size)},
                      .needed = static_cast<std::size_t>(std::min(size, end - at)),
                      .tag = reinterpret_cast<std::uint64_t>(&fill)};
  fill.next_at += size;
  if (fill.next_at == all) ++fill.next_piece, fill.next_at = 0;
  const bool more = fill.next_piece < fill.pieces.size();
  ++fill.reading;
  ++reading_;
  reads_->submit(read);
  return more;
}

void ReadQueue::done(const FileRead& read, const ReadFailure* failure) noexcept {
  Fill& fill = *reinterpret_cast<Fill*>(read.tag);
  {
    const std::lock_guard lock(mutex_);
    --reading_;
    --fill.reading;
    if (failure && !failed()) {
      failure_ = *failure;
      failed_.store(true, std::memory_order_release);
      queue_.clear();
    }
    if (!failure) {
      stats_.bytes += static_cast<std::int64_t>(read.needed);
      ++stats_.n_reads;
    }
    if (fill.reading == 0 && fill.next_piece == fill.pieces.size() && !failed())
      fill.ready.store(true, std::memory_order_release);
    pump();
  }
  changed_.notify_all();
}

void ReadQueue::clear() noexcept {
  const std::lock_guard lock(mutex_);
  queue_.clear();
}

void ReadQueue::drain() noexcept {
  drain([] { return false; });
}

void ReadQueue::rethrow() const {
  const std::lock_guard lock(mutex_);
  if (failed()) fail<IoError>("{}", to_string(failure_, paths_));
}

void ReadQueue::forget_failure() noexcept {
  failed_.store(false, std::memory_order_release);
}

ReadStats ReadQueue::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace weft::run
