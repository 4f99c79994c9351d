#include "memory/state_store.h"

#include <cstring>

#include "device_memory.h"

namespace weft {

std::span<std::byte> StateStore::on_host(const State& state, std::int32_t unit) const {
  const std::int64_t n = state.unit_bytes();
  return {state.host + unit * n, static_cast<std::size_t>(n)};
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

void StateStore::read(const State& state, std::int32_t unit, const Sink& sink) const {
  if (state.host) return sink(on_host(state, unit));
  std::vector<std::byte> bytes(static_cast<std::size_t>(state.unit_bytes()));
  state.device->read_state(state.path, unit * state.unit_bytes(), bytes);
  sink(bytes);
}

void StateStore::write(const State& state, std::int32_t unit, std::span<const std::byte> bytes) {
  if (state.host) {
    std::memcpy(on_host(state, unit).data(), bytes.data(), bytes.size());
  } else {
    state.device->write_state(state.path, unit * state.unit_bytes(), bytes);
  }
}

}  // namespace weft
