#pragma once
// Converts the tensors of a plan piece by piece on several threads, and returns the pieces in
// order: while one is written, others are being converted. A piece is a few rows; at most a few
// pieces per thread exist at a time.

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "weft/quantize/quantize.h"
#include "weft/quantize/row_converter.h"

namespace weft::quantize {

class Converter {
 public:
  // All three outlive the object. REQUIRES: no tensor of the plan has an obstacle.
  Converter(const Checkpoint& file, const QuantizePlan& plan, const QuantizeOptions& options,
            int workers);
  ~Converter();

  using Take = std::function<void(std::span<const std::byte>)>;
  // Passes the bytes of tensor `i` to `take`, in order. Calls `after_piece` after each piece with
  // the progress over all tensors, 0..1. Throws errors of the conversion, and any exception of the
  // functions. REQUIRES: called once for every tensor, in the order of the plan.
  void put_tensor(std::size_t i, const Take& take, const std::function<void(double)>& after_piece);

 private:
  struct Piece {
    std::size_t tensor = 0;
    std::int64_t first_row = 0, n_rows = 0;
  };
  struct Slot {
    std::vector<std::byte> bytes, in_order;
    std::span<const std::byte> out;
    std::exception_ptr error;
    bool ready = false;
  };
  struct Weights {  // importances, while a tensor is being converted
    std::once_flag once;
    std::vector<float> values;
  };

  void add_pieces(std::size_t tensor);
  void start();
  void work();
  void make(const Piece& piece, Slot& slot, RowConverter& rows);
  [[noreturn]] void refuse(const Piece& piece, const BadWeight& bad) const;
  std::vector<RowSource> sources(const Piece& piece) const;
  void release_source(const Piece& piece) const;
  const float* importance(const Piece& piece);
  double cost(const Piece& piece) const;

  const Checkpoint& file_;
  const QuantizePlan& plan_;
  const QuantizeOptions& options_;
  const std::size_t n_workers_;
  std::vector<Piece> pieces_;
  std::vector<Weights> weights_;
  double all_ = 0, done_ = 0;

  std::mutex mutex_;
  std::condition_variable made_, freed_;
  std::vector<Slot> slots_;  // piece i uses slot i mod their number
  std::size_t next_ = 0, written_ = 0;
  bool stop_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace weft::quantize
