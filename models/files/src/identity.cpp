#include "weft/files/identity.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <variant>

#include "weft/base/checksum.h"
#include "weft/base/error.h"
#include "weft/base/fork_mutex.h"
#include "weft/base/no_destructor.h"
#include "weft/files/gguf_writer.h"
#include "weft/files/pages.h"
#include "weft/files/tensor_pages.h"

namespace weft {
namespace {

constexpr std::int64_t kPieceTarget = std::int64_t{2} << 20;
constexpr std::int64_t kRowsTogether = 16;  // rows that backends pack together
constexpr std::size_t kPiecesAhead = 8;     // how many pieces to read ahead from disk
constexpr std::size_t kMaxReaders = 16;

// A hash of values, each with its length if it may vary.
class ValueHash {
 public:
  void add(std::string_view text) {
    add(text.size());
    sum_.add(std::as_bytes(std::span(text)));
  }
  void add(const MetaValue& value) {
    add(static_cast<std::uint32_t>(value.type));
    std::visit([&](const auto& v) { add_value(v); }, value.value);
  }
  template <class T>
  requires std::is_arithmetic_v<T>
  void add(T value) { sum_.add(std::as_bytes(std::span(&value, 1))); }
  // Adds the header's facts about a tensor, except its place.
  void add(const CheckpointTensor& tensor) {
    add(tensor.name);
    add(tensor.spec.dtype.name());
    add(tensor.spec.shape.n_dims());
    for (const Dim& dim : tensor.spec.shape) add(dim.bound);
  }

  std::uint64_t value() const { return sum_.value(); }

 private:
  template <class T>
  void add_value(const T& value) {
    add(value);
  }
  void add_value(const std::shared_ptr<const MetaArray>& array) {
    add(array->size());
    std::visit(
        [&](const auto& values) {
          using T = typename std::decay_t<decltype(values)>::value_type;
          for (const T& v : values) add(v);
        },
        array->values);
  }

  Checksum sum_;
};

std::uint64_t describe(const Checkpoint& file) {
  ValueHash hash;
  for (const MetaEntry& entry : file.metadata()) {
    if (is_layout_key(entry.key)) continue;
    hash.add(entry.key);
    hash.add(entry.value);
  }
  hash.add(tensor_table(file));
  return hash.value();
}

struct Piece {
  const CheckpointTensor* tensor = nullptr;
  std::int64_t first = 0, last = 0;
  std::uint64_t sum = 0;
};

void add_pieces(const CheckpointTensor& tensor, std::vector<Piece>& pieces) {
  const std::int64_t n_rows = tensor.n_rows(), step = piece_rows(tensor);
  for (std::int64_t r = 0; r < n_rows; r += step)
    pieces.push_back({&tensor, r, std::min(r + step, n_rows)});
}

void read_ahead(const Piece& piece) {
  for (const RowSource& from : row_sources(*piece.tensor, piece.first, piece.last))
    weft::read_ahead(from.bytes);
}

void sum_up(const Checkpoint& file, Piece& piece, bool release) {
  prefault_rows(file, *piece.tensor, piece.first, piece.last);
  piece.sum = piece_checksum(*piece.tensor, piece.first, piece.last);
  if (!release) return;
  for (const RowSource& from : row_sources(*piece.tensor, piece.first, piece.last))
    if (from.last) unmap_source(from);
}

// Sums up pieces on several threads.
class Readers {
 public:
  Readers(const Checkpoint& file, std::span<Piece> pieces, const ReadOptions& options)
      : file_(file), pieces_(pieces), options_(options) {}

  void run() {
    for (const Piece& p : pieces_.first(std::min(kPiecesAhead, pieces_.size()))) read_ahead(p);
    {
      std::vector<std::jthread> threads;
      const Stop stop{*this};
      start(threads);
      while (take()) report();
    }
    if (error_) std::rethrow_exception(error_);
    report();
  }

 private:
  struct Stop {  // also before threads are joined after an exception
    Readers& readers;
    ~Stop() { readers.next_ = readers.pieces_.size(); }
  };

  void start(std::vector<std::jthread>& threads) {
    const auto wanted = static_cast<std::size_t>(std::max(options_.threads, 1));
    const std::size_t n = std::min({wanted, kMaxReaders, pieces_.size()});
    try {
      for (std::size_t i = 1; i < n; ++i) {
        threads.emplace_back([this] {
          while (take()) {
          }
        });
      }
    } catch (const std::system_error&) {
      // The threads that were started do all the work.
    }
  }
  bool take() {
    const std::size_t i = next_.fetch_add(1, std::memory_order_relaxed);
    if (i >= pieces_.size()) return false;
    try {
      if (i + kPiecesAhead < pieces_.size()) read_ahead(pieces_[i + kPiecesAhead]);
      sum_up(file_, pieces_[i], options_.release_pages);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      next_ = pieces_.size();
    }
    return true;
  }
  void report() const {
    const std::size_t n = pieces_.size();
    const double share =
        n == 0 ? 1 : static_cast<double>(std::min<std::size_t>(next_, n)) / static_cast<double>(n);
    if (options_.progress && !options_.progress(share))
      fail<CancelledError>("reading the weights was cancelled");
  }

  const Checkpoint& file_;
  const std::span<Piece> pieces_;
  const ReadOptions& options_;
  std::atomic<std::size_t> next_{0};
  ForkMutex mutex_;
  std::exception_ptr error_;
};

// The contents of files that this process has read, by their stamps and descriptions of tensors:
// a server may load a model several times.
class KnownContents {
 public:
  static constexpr std::size_t kMostKnown = 256;
  static std::uint64_t key(const Checkpoint& file, std::uint64_t stamp) {
    ValueHash hash;
    hash.add(stamp);
    hash.add(tensor_table(file));
    return hash.value();
  }
  std::optional<std::uint64_t> find(std::uint64_t key) {
    const std::lock_guard lock(mutex_);
    const auto known = contents_.find(key);
    if (known == contents_.end()) return std::nullopt;
    return known->second;
  }
  void keep(std::uint64_t key, std::uint64_t contents) {
    const std::lock_guard lock(mutex_);
    if (contents_.size() >= kMostKnown) contents_.clear();  // they are read again
    contents_[key] = contents;
  }

 private:
  ForkMutex mutex_;
  std::map<std::uint64_t, std::uint64_t> contents_;
};

KnownContents& known_contents_of_process() {
  static NoDestructor<KnownContents> known;
  return *known;
}

}  // namespace

std::uint64_t tensor_table(const Checkpoint& file) {
  ValueHash hash;
  for (const CheckpointTensor& tensor : file.tensors()) hash.add(tensor);
  return hash.value();
}

std::int64_t piece_rows(const CheckpointTensor& tensor) {
  const std::int64_t groups = kPieceTarget / tensor.row_bytes() / kRowsTogether;
  return std::max<std::int64_t>(1, groups) * kRowsTogether;
}

std::uint64_t piece_checksum(const CheckpointTensor& tensor, std::int64_t first,
                             std::int64_t last) {
  const std::int64_t row_bytes = tensor.row_bytes();
  const auto n_bytes = static_cast<std::size_t>((last - first) * row_bytes);
  if (tensor.runs.empty()) return checksum({tensor.data + first * row_bytes, n_bytes});
  std::vector<std::byte> rows(n_bytes);
  copy_rows(tensor, first, last, rows.data());
  return checksum(rows);
}

Identity::Identity(const Checkpoint& file) : file_(file), tensors_(file.tensors().size()) {}

std::uint64_t Identity::description() {
  const std::lock_guard lock(mutex_);
  if (!description_) description_ = describe(file_);
  return *description_;
}

std::optional<std::uint64_t> Identity::known_contents() {
  const std::lock_guard lock(mutex_);
  return contents_;
}

void Identity::set_contents(std::uint64_t contents) {
  const std::lock_guard lock(mutex_);
  if (!contents_) contents_ = contents;
}

void Identity::add(const CheckpointTensor& tensor, std::span<const std::uint64_t> pieces) {
  const std::lock_guard lock(mutex_);
  tensors_[static_cast<std::size_t>(&tensor - file_.tensors().data())] =
      checksum(std::as_bytes(pieces));
}

std::uint64_t Identity::combined() const {
  ValueHash hash;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    hash.add(file_.tensors()[i]);
    hash.add(*tensors_[i]);
  }
  return hash.value();
}

std::uint64_t Identity::contents(const ReadOptions& options) {
  const std::lock_guard lock(mutex_);
  if (contents_) return *contents_;
  const std::optional<std::uint64_t> stamp = file_.stamp();
  const std::uint64_t key = stamp ? KnownContents::key(file_, *stamp) : 0;
  if (stamp) contents_ = known_contents_of_process().find(key);
  if (contents_) return *contents_;
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (!tensors_[i]) add_pieces(file_.tensors()[i], pieces);
  Readers(file_, pieces, options).run();
  file_.check_unchanged();
  std::vector<std::uint64_t> sums;
  for (auto piece = pieces.begin(); piece != pieces.end();) {
    const CheckpointTensor* tensor = piece->tensor;
    sums.clear();
    for (; piece != pieces.end() && piece->tensor == tensor; ++piece) sums.push_back(piece->sum);
    tensors_[static_cast<std::size_t>(tensor - file_.tensors().data())] =
        checksum(std::as_bytes(std::span(sums)));
  }
  contents_ = combined();
  if (stamp) known_contents_of_process().keep(key, *contents_);
  return *contents_;
}

}  // namespace weft
