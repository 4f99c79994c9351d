#pragma once
// The memory of states with the same layout, row by row. A row is a block of cells, or a recurrent
// layer's state of a sequence. In host memory or in a device's.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weft/graph/op_def.h"

namespace weft::run {

class DeviceMemory;

// A tensor at its bounds, with rows back to back.
View bounds_view(const TensorSpec& spec, std::byte* data);

// Gives the whole pages among these bytes back to the system: they read as zeros.
void release_memory(std::span<std::byte> bytes);

class StateStore {
 public:
  struct State {
    std::string path;
    TensorSpec spec;
    std::byte* host = nullptr;       // null: in the device's memory
    DeviceMemory* device = nullptr;  // outlives the store

    std::int64_t row_bytes() const { return spec.row_bytes(); }
  };
  using Sink = std::function<void(std::span<const std::byte>)>;

  StateStore() = default;
  explicit StateStore(std::vector<State> states) : states_(std::move(states)) {}

  std::span<const State> states() const { return states_; }
  // Copies a row of all states. Does not allocate for states in host memory.
  void copy(std::int32_t from, std::int32_t to);
  void read(const State& state, std::int32_t row, const Sink& sink) const;
  // Gives the pages of rows that nobody has back to the system. They read as zeros until they are
  // written. REQUIRES: the rows ascend.
  void release_rows(std::span<const std::int32_t> rows);
  // REQUIRES: `bytes` has the size of a row.
  void write(const State& state, std::int32_t row, std::span<const std::byte> bytes);

 private:
  std::span<std::byte> on_host(const State& state, std::int32_t row) const;

  std::vector<State> states_;
};

}  // namespace weft::run
