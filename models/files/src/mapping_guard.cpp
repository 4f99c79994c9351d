#include "weft/files/mapping_guard.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <system_error>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "weft/base/error.h"
#include "weft/files/mapped_file.h"

namespace weft {
namespace {

using Address = std::uintptr_t;

// `begin` is written last and cleared first: 0 while the other members change.
struct Slot {
  std::atomic<bool> taken{false}, failed{false};
  std::atomic<Address> begin{0}, end{0};  // end: of the last page
  std::atomic<const char*> path{nullptr};
};
static_assert(std::atomic<Address>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "a signal handler uses them");

// Fixed, because a signal handler can neither lock nor allocate.
std::array<Slot, 4096> slots;
std::atomic<std::uint32_t> n_missing{0};
std::array<char, 4096> first_path{};
std::atomic<bool> has_first_path{false};

struct sigaction previous = {};

// Counted before the zeros are there: no thread can have read them and see no failure.
void note_failure(Slot& slot) {
  const bool first = n_missing.fetch_add(1) == 0;
  slot.failed = true;
  if (!first) return;
  const char* path = slot.path.load();
  std::memcpy(first_path.data(), path, std::min(std::strlen(path), first_path.size() - 1));
  has_first_path = true;
}

// Maps zeros from the page of the address to the end of the mapping.
bool replace_rest(Slot& slot, Address address) {
  const Address begin = slot.begin;
  const Address end = slot.end;
  // The second look finds a slot that another thread takes or leaves meanwhile.
  if (begin == 0 || address < begin || address >= end || slot.begin != begin) return false;
  const Address page = address - address % page_bytes();
  note_failure(slot);
  // The system call, because sanitizers replace the function.
  const long result = syscall(SYS_mmap, page, end - page, PROT_READ,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  return static_cast<Address>(result) == page;
}

void on_missing_page(int signal, siginfo_t* info, void*) {
  const int error = errno;
  const auto address = reinterpret_cast<Address>(info->si_addr);
  const bool is_fault = info->si_code > 0;  // not sent by a process
  const bool replaced = is_fault && std::ranges::any_of(slots, [&](Slot& slot) {
                          return replace_rest(slot, address);
                        });
  if (!replaced) {
    // A fault is repeated after the return, and then gets there.
    sigaction(SIGBUS, &previous, nullptr);
    if (!is_fault) raise(signal);
  }
  errno = error;
}

}  // namespace

void install_mapping_guard() {
  static std::once_flag installed;
  std::call_once(installed, [] {
    page_bytes();  // asks the system the first time
    struct sigaction action = {};
    action.sa_sigaction = on_missing_page;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    if (sigaction(SIGBUS, &action, &previous) != 0)
      fail<IoError>("cannot handle SIGBUS: {}", std::generic_category().message(errno));
  });
}

std::uint32_t n_missing_pages() {
  return n_missing;
}

std::string first_failed_mapping() {
  return has_first_path ? first_path.data() : "a mapped file";
}

GuardedMapping::GuardedMapping(const std::byte* data, std::size_t size, const std::string& path)
    : path_(std::make_unique<const std::string>(path)) {
  const auto free = std::ranges::find_if(slots, [](Slot& s) { return !s.taken.exchange(true); });
  if (free == slots.end()) return;
  slot_ = static_cast<int>(free - slots.begin());
  const auto begin = reinterpret_cast<Address>(data);
  free->failed = false;
  free->path = path_->c_str();
  free->end = begin + (size + page_bytes() - 1) / page_bytes() * page_bytes();
  free->begin = begin;
}

GuardedMapping::~GuardedMapping() {
  if (slot_ < 0) return;
  Slot& slot = slots[static_cast<std::size_t>(slot_)];
  slot.begin = 0;
  slot.taken = false;
}

bool GuardedMapping::failed() const {
  return slot_ >= 0 && slots[static_cast<std::size_t>(slot_)].failed;
}

}  // namespace weft
