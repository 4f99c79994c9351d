#include "border/handles.h"

#include <mutex>
#include <new>
#include <shared_mutex>
#include <utility>
#include <vector>

#include <pthread.h>

#include "weft/base/no_destructor.h"

namespace weft::c_api {
namespace {

// A handle: bit 0 is set, which no pointer to an object has; the kind in 7 bits, the slot in 24,
// the slot's generation in 30, and bit 62, so that it is not an address that a process can have.
constexpr int kKindShift = 1, kSlotShift = 8, kGenerationShift = 32;
constexpr std::uint64_t kKindMask = 0x7f, kSlotMask = 0xffffff, kGenerationMask = 0x3fffffff;
constexpr std::uint64_t kFixedBits = (std::uint64_t{1} << 62) | 1;

struct Slot {
  std::shared_ptr<Object> object;  // null if it is free
  std::uint64_t generation = 0;
};

struct Table {
  std::shared_mutex mutex;
  std::vector<Slot> slots;
  std::vector<std::uint32_t> free;
  std::atomic<std::uint32_t> forks{0};
};

Table& table();

void lock_table() {
  table().mutex.lock();
}
void unlock_table() {
  table().mutex.unlock();
}
// A lock for reading and writing knows its owner by the thread, which is another one in the child.
void unlock_in_child() {
  table().forks.fetch_add(1);
  new (&table().mutex) std::shared_mutex;
}

Table& table() {
  static NoDestructor<Table> instance;
  static const int registered = ::pthread_atfork(lock_table, unlock_table, unlock_in_child);
  (void)registered;
  return *instance;
}

struct Parts {
  Kind kind;
  std::size_t slot;
  std::uint64_t generation;
};

// Throws HandleError unless it has the form of a handle of this kind.
Parts parts_of(const void* handle, Kind kind) {
  const auto bits = reinterpret_cast<std::uintptr_t>(handle);
  if (bits == 0) fail<HandleError>("the {} is NULL", to_string(kind));
  const auto found = static_cast<Kind>((bits >> kKindShift) & kKindMask);
  if ((bits & kFixedBits) != kFixedBits || found >= Kind::count || (bits >> 63) != 0)
    fail<HandleError>("not a handle of a {}", to_string(kind));
  if (found != kind)
    fail<HandleError>("a {} was given, expected a {}", to_string(found), to_string(kind));
  return {found, static_cast<std::size_t>((bits >> kSlotShift) & kSlotMask),
          (bits >> kGenerationShift) & kGenerationMask};
}

// REQUIRES: the table is locked.
Slot& slot_of(Table& all, const Parts& parts) {
  if (parts.slot < all.slots.size()) {
    Slot& slot = all.slots[parts.slot];
    if (slot.object && slot.generation == parts.generation && slot.object->kind == parts.kind)
      return slot;
  }
  fail<HandleError>("the {} was freed", to_string(parts.kind));
}

}  // namespace

std::string_view to_string(Kind kind) {
  constexpr std::string_view kNames[] = {
      "error",     "canceller", "model",          "detokenizer", "grammar", "constraint",
      "sampler",   "session",   "saved sequence", "generation",  "batch",   "chat",
      "chat plan", "reply",     "conversation",   "embedder",    "graph",   "computation",
      "diffusion", "config",    "builder",        "speculation"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Kind::count));
  return kNames[static_cast<std::size_t>(kind)];
}

void* add_handle(std::shared_ptr<Object> object) {
  Table& all = table();
  const auto kind = static_cast<std::uint64_t>(object->kind);
  const std::unique_lock lock(all.mutex);
  if (all.free.empty()) {
    if (all.slots.size() > kSlotMask) fail<BudgetError>("there are {} handles", all.slots.size());
    // Freeing a handle needs no memory.
    if (all.free.capacity() <= all.slots.size()) all.free.reserve(2 * all.slots.size() + 16);
    all.slots.emplace_back();
    all.free.push_back(static_cast<std::uint32_t>(all.slots.size() - 1));
  }
  const std::uint64_t index = all.free.back();
  all.free.pop_back();
  Slot& slot = all.slots[index];
  slot.object = std::move(object);
  return reinterpret_cast<void*>(kFixedBits | (kind << kKindShift) | (index << kSlotShift) |
                                 (slot.generation << kGenerationShift));
}

std::shared_ptr<Object> find_handle(const void* handle, Kind kind) {
  const Parts parts = parts_of(handle, kind);
  Table& all = table();
  const std::shared_lock lock(all.mutex);
  return slot_of(all, parts).object;
}

std::shared_ptr<Object> take_handle(const void* handle, Kind kind) {
  const Parts parts = parts_of(handle, kind);
  Table& all = table();
  std::shared_ptr<Object> object;
  {
    const std::unique_lock lock(all.mutex);
    Slot& slot = slot_of(all, parts);
    object = std::exchange(slot.object, nullptr);
    // A slot whose generations are used up is not used again.
    if (++slot.generation <= kGenerationMask)
      all.free.push_back(static_cast<std::uint32_t>(parts.slot));
  }
  if (object->is_parents()) new std::shared_ptr<Object>(object);  // its threads do not exist here
  return object;
}

std::uint32_t process_generation() {
  return table().forks.load();
}

}  // namespace weft::c_api
