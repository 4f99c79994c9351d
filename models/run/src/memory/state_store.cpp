#include "memory/state_store.h"

#include <cstring>

#include <sys/mman.h>

#include "weft/files/mapped_file.h"

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

void release_memory(std::span<std::byte> bytes) {
  const std::size_t page = page_bytes();
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t first = (begin + page - 1) / page * page,
                       end = (begin + bytes.size()) / page * page;
  if (first < end)  // refusal only costs memory
    ::madvise(bytes.data() + (first - begin), end - first, MADV_DONTNEED);
}

void StateStore::release_rows(std::span<const std::int32_t> rows) {
  for (std::size_t i = 0, n = 0; i < rows.size(); i += n) {
    const auto is_next = [&](std::size_t k) {
      return i + k < rows.size() && rows[i + k] == rows[i] + static_cast<std::int32_t>(k);
    };
    for (n = 1; is_next(n); ++n) {
    }
    for (const State& state : states_) {
      if (!state.host) continue;
      const std::span<std::byte> first = on_host(state, rows[i]);
      release_memory({first.data(), first.size() * n});
    }
  }
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
