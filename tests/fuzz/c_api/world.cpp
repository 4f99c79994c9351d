#include "c_api/world.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft_fuzz {
namespace {

constexpr std::int64_t kIntegers[] = {
    0,         1,          -1,        2,         3,         4,         8,
    9,         15,         16,        63,        64,        65,        100,
    -2,        -100,       1000,      2047,      2048,      4096,      INT32_MAX,
    INT32_MIN, UINT32_MAX, 1LL << 32, 1LL << 40, 1LL << 62, INT64_MAX, INT64_MIN};
constexpr double kNumbers[] = {0, 1, -1, 0.5, 2, 1e-30, 1e30, 1e300, 32760, 0.999};

using Free = weft_status (*)(void* handle);
constexpr Free kFree[] = {
#define WEFT_FUZZ_FREE(name) \
  [](void* handle) { return weft_##name##_free(static_cast<weft_##name*>(handle)); },
    WEFT_FUZZ_HANDLES(WEFT_FUZZ_FREE)
#undef WEFT_FUZZ_FREE
};

}  // namespace

World::~World() {
  for (std::size_t type = 0; type < std::size(kFree); ++type) {
    for (void* const handle : live_[type]) {
      if (handle != stories()) kFree[type](handle);
    }
  }
}

std::uint8_t World::byte() {
  if (data_.empty()) return 0;
  const std::uint8_t first = data_.front();
  data_ = data_.subspan(1);
  return first;
}

std::int64_t World::integer() {
  const std::uint8_t b = byte();
  return b < 176 ? b % 4 : kIntegers[b % std::size(kIntegers)];
}

double World::number() {
  const std::uint8_t b = byte();
  if (b < 200) return b % 8 / 4.0;
  if (b == 253) return std::numeric_limits<double>::quiet_NaN();
  if (b == 254) return std::numeric_limits<double>::infinity();
  if (b == 255) return -std::numeric_limits<double>::infinity();
  return kNumbers[b % std::size(kNumbers)];
}

const std::string& World::word(Words from) {
  const std::uint8_t b = byte();
  if (b >= 224) from = static_cast<Words>(b % static_cast<std::size_t>(Words::count));
  const auto list = words(from);
  return list[byte() % list.size()];
}

void* World::handle(Type type) {
  const std::uint8_t b = byte();
  const std::vector<void*>& all = live(type);
  if (b < 224 && all.empty()) usual_handle(type);
  if (b < 224 && !all.empty())
    return all[all.size() - 1 - b % std::min<std::size_t>(4, all.size())];
  return wrong_handle(type);
}

void* World::wrong_handle(Type type) {
  const std::uint8_t b = byte();
  if (b < 64 && !stale_.empty()) return stale_[b % stale_.size()];
  if (b < 128) {
    const std::vector<void*>& others = live_[b % live_.size()];
    if (!others.empty()) return others.back();
  }
  if (b < 160 && !live(type).empty()) {  // near a handle
    auto bits = reinterpret_cast<std::uintptr_t>(live(type).back());
    return reinterpret_cast<void*>(bits ^ std::uintptr_t{1} << (32 + byte() % 32));
  }
  return b < 208 ? nullptr : reinterpret_cast<void*>(static_cast<std::intptr_t>(integer()));
}

void World::drop(Type type, void* handle) {
  std::erase(live(type), handle);
  if (handle) stale_.push_back(handle);
}

std::string World::bytes() {
  const std::uint8_t b = byte();
  if (b < 64) return saved_;
  if (b < 192) return tiny_model();
  std::string own(byte() % 64, '\0');
  for (char& c : own) c = static_cast<char>(byte());
  return own;
}

}  // namespace weft_fuzz
