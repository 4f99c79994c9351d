#include "memory/state_store.h"

#include <cstring>

#include "weights/device_memory.h"

namespace weft::run {

View bounds_view(const TensorSpec& spec, std::byte* data) {
  View view{.data = data, .dtype = spec.dtype, .n_dims = spec.shape.n_dims(), .dims = {}};
  for (int i = 0; i < view.n_dims; ++i)
    view.dims[static_cast<std::size_t>(i)] = spec.shape[i].bound;
  view.row_stride = spec.row_bytes();
  return view;
}

std::span<std::byte> StateStore::on_host(const State& state, std::int32_t row) const {
  const std::int64_t n = state.row_bytes();
  return {state.host + row * n, static_cast<std::size_t>(n)};
}

void StateStore::copy(std::int32_t from, std::int32_t to) {
  for (const State& state : states_) {
    if (state.host) {
      write(state, to, on_host(state, from));
    } else {
      read(state, from, [&](std::span<const std::byte> bytes) { write(state, to, bytes); });
    }
  }
}

void StateStore::read(const State& state, std::int32_t row, const Sink& sink) const {
  if (state.host) return sink(on_host(state, row));
  std::vector<std::byte> bytes(static_cast<std::size_t>(state.row_bytes()));
  state.device->read_state(state.path, row * state.row_bytes(), bytes);
  sink(bytes);
}

void StateStore::write(const State& state, std::int32_t row, std::span<const std::byte> bytes) {
  if (state.host) {
    std::memcpy(on_host(state, row).data(), bytes.data(), bytes.size());
  } else {
    state.device->write_state(state.path, row * state.row_bytes(), bytes);
  }
}

}  // namespace weft::run
