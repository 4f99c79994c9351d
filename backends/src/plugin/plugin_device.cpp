#include "plugin/plugin_device.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include <sys/mman.h>
#include <unistd.h>

#include "weft/base/error.h"

namespace weft::plugin {
namespace {

std::int64_t reserved_bytes(std::int64_t n_bytes) {
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  return (std::max<std::int64_t>(n_bytes, 1) + page - 1) / page * page;
}

std::byte* reserve(std::int64_t n_bytes) {
  void* p = mmap(nullptr, static_cast<std::size_t>(n_bytes), PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    fail<IoError>("cannot reserve {} bytes of address space: {}", n_bytes, std::strerror(errno));
  return static_cast<std::byte*>(p);
}

}  // namespace

std::string call_error(const weft_backend& table, std::string_view name, std::string_view what,
                       weft_status status) {
  constexpr std::string_view kWords[] = {"ok",     "unsupported", "invalid", "out of memory",
                                         "failed", "device lost"};
  const auto i = static_cast<std::size_t>(status);
  const std::string word =
      i < std::size(kWords) ? std::string(kWords[i]) : fmt::format("status {}", status);
  const char* said = table.last_error();
  return fmt::format("backend {}: {}: {}{}{}", name, what, word, said && *said ? ": " : "",
                     said ? said : "");
}

void fail_call(const weft_backend& table, std::string_view name, std::string_view what,
               weft_status status) {
  throw Error(call_error(table, name, what, status));
}

PluginDevice::PluginDevice(const weft_backend& table, weft_device* device, std::string name)
    : table_(table), device_(device), name_(std::move(name)) {
  const weft_status status = table_.queue_create(device_, &queue_);
  if (status != WEFT_OK || !queue_) fail_call(table_, name_, "making its queue", status);
}

void PluginDevice::expect_alive() const {
  if (lost_) fail<Error>("backend {}: its device is lost", name_);
}

std::byte* PluginDevice::allocate(std::int64_t n_bytes) {
  const std::lock_guard lock(mutex_);
  expect_alive();
  const std::int64_t size = reserved_bytes(n_bytes);
  std::byte* const data = reserve(size);
  weft_buffer* buffer = nullptr;
  const weft_status status =
      table_.buffer_create(device_, std::max<std::int64_t>(n_bytes, 1), &buffer);
  if (status != WEFT_OK || !buffer) {
    note(status);
    const std::string text =
        call_error(table_, name_, fmt::format("a buffer of {} bytes", n_bytes), status);
    munmap(data, static_cast<std::size_t>(size));
    throw Error(text);
  }
  buffers_.emplace(data, Buffer{size, buffer});
  return data;
}

void PluginDevice::release(std::byte* data) noexcept {
  const std::lock_guard lock(mutex_);
  const auto it = buffers_.find(data);
  if (it == buffers_.end()) return;
  table_.queue_finish(queue_);  // it must not be in use when it is freed
  table_.buffer_destroy(it->second.buffer);
  munmap(data, static_cast<std::size_t>(it->second.size));
  buffers_.erase(it);
}

PluginDevice::Place PluginDevice::place_of(const std::byte* data) const {
  const std::lock_guard lock(mutex_);
  auto it = buffers_.upper_bound(data);
  if (it == buffers_.begin()) return {};
  --it;
  if (data - it->first >= it->second.size) return {};
  return {it->second.buffer, data - it->first};
}

bool PluginDevice::owns(const std::byte* data) const {
  return place_of(data).buffer != nullptr;
}

void PluginDevice::copy(Copying how, std::string_view what, const DeviceCopy& c) {
  const std::lock_guard lock(mutex_);
  expect_alive();
  const Place place = place_of(c.device);
  const weft_copy copy{.struct_size = sizeof(weft_copy),
                       .reserved = 0,
                       .n_rows = c.n_rows,
                       .row_bytes = c.row_bytes,
                       .buffer = place.buffer,
                       .offset = place.offset,
                       .stride = c.device_stride,
                       .host = c.host,
                       .host_stride = c.host_stride};
  const weft_status status = place.buffer ? how(queue_, &copy) : WEFT_INVALID;
  note(status);
  if (status != WEFT_OK) {
    fail_call(table_, name_, fmt::format("{} of {} bytes", what, c.n_rows * c.row_bytes), status);
  }
}

void PluginDevice::upload(const DeviceCopy& c) {
  copy(table_.upload, "upload", c);
}
void PluginDevice::download(const DeviceCopy& c) {
  copy(table_.download, "download", c);
}

void PluginDevice::finish() {
  const std::lock_guard lock(mutex_);
  expect_alive();
  const weft_status status = table_.queue_finish(queue_);
  note(status);
  if (status != WEFT_OK) fail_call(table_, name_, "waiting for its work", status);
}

}  // namespace weft::plugin
