#include "converter.h"

#include <algorithm>
#include <utility>

#include "weft/base/error.h"
#include "weft/files/pages.h"
#include "weft/files/tensor_pages.h"

#include "tensors.h"

namespace weft::quantize {
namespace {

constexpr std::int64_t kPieceElems = 1 << 17;
constexpr std::size_t kSlotsPerWorker = 6;
// A fault also maps pages around it, in large folios up to this many bytes: pages of a piece that
// was released come back when the next piece is read.
constexpr std::uint64_t kFaultAround = 2 << 20;
constexpr double kCopyCost = 1.0 / 16;  // cost of copying an element, relative to converting one

bool is_float(DType type) {
  return type == f32 || type == f16 || type == bf16;
}

}  // namespace

Converter::Converter(const Checkpoint& file, const QuantizePlan& plan,
                     const QuantizeOptions& options, int workers)
    : file_(file),
      plan_(plan),
      options_(options),
      n_workers_(static_cast<std::size_t>(std::max(workers, 1))),
      weights_(plan.tensors.size()),
      slots_(n_workers_ * kSlotsPerWorker) {
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) add_pieces(i);
  for (const Piece& piece : pieces_) all_ += cost(piece);
}

Converter::~Converter() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  freed_.notify_all();
}

void Converter::add_pieces(std::size_t tensor) {
  const Rows rows = rows_of(plan_.tensors[tensor].tensor->spec);
  const std::int64_t step = std::max<std::int64_t>(1, kPieceElems / rows.n_cols);
  // No piece spans two matrices, because each matrix has its own importances.
  for (std::int64_t end = 0; end < rows.n_rows;) {
    const std::int64_t matrix_end = end + rows.rows_per_matrix();
    for (std::int64_t row = end; row < matrix_end; row += step)
      pieces_.push_back({tensor, row, std::min(step, matrix_end - row)});
    end = matrix_end;
  }
}

double Converter::cost(const Piece& piece) const {
  const QuantizedTensor& t = plan_.tensors[piece.tensor];
  const auto elems = static_cast<double>(piece.n_rows * rows_of(t.tensor->spec).n_cols);
  return t.converts() ? elems : kCopyCost * elems;
}

std::vector<RowSource> Converter::sources(const Piece& piece) const {
  return row_sources(*plan_.tensors[piece.tensor].tensor, piece.first_row,
                     piece.first_row + piece.n_rows);
}

void Converter::release_source(const Piece& piece) const {
  for (const RowSource& from : sources(piece)) {
    if (!from.last) continue;
    unmap_source(from, std::min<std::size_t>(from.file_offset, kFaultAround));
  }
}

const float* Converter::importance(const Piece& piece) {
  const QuantizedTensor& t = plan_.tensors[piece.tensor];
  if (!t.weighted) return nullptr;
  const Rows rows = rows_of(t.tensor->spec);
  Weights& weights = weights_[piece.tensor];
  std::call_once(weights.once, [&] {
    weights.values = options_.imatrix->importances(t.tensor->name, rows.n_cols, rows.n_matrices);
  });
  return weights.values.data() + piece.first_row / rows.rows_per_matrix() * rows.n_cols;
}

void Converter::refuse(const Piece& piece, const BadWeight& bad) const {
  const QuantizedTensor& t = plan_.tensors[piece.tensor];
  quantize::refuse(file_.path(), *t.tensor, t.to, piece.first_row, bad);
}

void Converter::make(const Piece& piece, Slot& slot, RowConverter& rows) {
  const QuantizedTensor& t = plan_.tensors[piece.tensor];
  const DType from = t.tensor->spec.dtype;
  const std::int64_t n_cols = rows_of(t.tensor->spec).n_cols;
  const std::int64_t n_elems = piece.n_rows * n_cols;
  const auto n_bytes = static_cast<std::size_t>(from.bytes(n_elems));
  prefault_rows(file_, *t.tensor, piece.first_row, piece.first_row + piece.n_rows);
  if (!t.tensor->runs.empty()) {  // the rows are in another order in the file
    slot.in_order.resize(n_bytes);
    copy_rows(*t.tensor, piece.first_row, piece.first_row + piece.n_rows, slot.in_order.data());
  }
  const std::span<const std::byte> in =
      t.tensor->runs.empty()
          ? std::span(t.tensor->data + piece.first_row * from.bytes(n_cols), n_bytes)
          : std::span<const std::byte>(slot.in_order);
  slot.out = in;
  if (!t.converts()) {
    if (!is_float(from)) return;
    const BadWeight bad = find_nonfinite(*find_format(from), in.data(), n_elems);
    if (!bad.found()) return;
    if (!options_.nonfinite_to_zero) refuse(piece, bad);
  }
  slot.bytes.resize(static_cast<std::size_t>(t.to.bytes(n_elems)));
  slot.out = slot.bytes;
  const BadWeight bad =
      rows.convert(*find_format(from), *find_format(t.to), in.data(), slot.bytes.data(),
                   piece.n_rows, n_cols, importance(piece), options_.nonfinite_to_zero);
  if (bad.found()) refuse(piece, bad);
}

void Converter::work() {
  RowConverter rows;
  std::unique_lock lock(mutex_);
  while (true) {
    freed_.wait(
        lock, [&] { return stop_ || next_ == pieces_.size() || next_ < written_ + slots_.size(); });
    if (stop_ || next_ == pieces_.size()) return;
    const std::size_t i = next_++;
    Slot& slot = slots_[i % slots_.size()];
    lock.unlock();
    if (i + slots_.size() < pieces_.size()) {
      for (const RowSource& from : sources(pieces_[i + slots_.size()])) read_ahead(from.bytes);
    }
    try {
      make(pieces_[i], slot, rows);
    } catch (...) {
      slot.error = std::current_exception();
    }
    lock.lock();
    slot.ready = true;
    if (i == written_) made_.notify_one();
  }
}

void Converter::start() {
  if (!threads_.empty()) return;
  for (std::size_t i = 0; i < n_workers_; ++i) threads_.emplace_back([this] { work(); });
}

void Converter::put_tensor(std::size_t i, const Take& take,
                           const std::function<void(double)>& after_piece) {
  start();
  while (written_ < pieces_.size() && pieces_[written_].tensor == i) {
    Slot& slot = slots_[written_ % slots_.size()];
    {
      std::unique_lock lock(mutex_);
      made_.wait(lock, [&] { return slot.ready; });
    }
    if (slot.error) std::rethrow_exception(slot.error);
    take(slot.out);
    release_source(pieces_[written_]);
    done_ += cost(pieces_[written_]);
    slot.ready = false;
    {
      const std::lock_guard lock(mutex_);
      ++written_;
    }
    freed_.notify_one();
    after_piece(done_ / all_);
  }
  weights_[i].values = {};
}

}  // namespace weft::quantize
