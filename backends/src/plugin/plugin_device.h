#pragma once
// The memory of a plug-in's device, and the one queue in which all its work stands.

#include <atomic>
#include <map>
#include <string>
#include <utility>

#include "weft/backends/abi.h"
#include "weft/backends/device.h"

namespace weft::plugin {

// "backend opencl: upload of 64 bytes: MESSAGE".
[[noreturn]] void fail_call(const weft_backend& table, std::string_view name, std::string_view what,
                            weft_status status);
std::string call_error(const weft_backend& table, std::string_view name, std::string_view what,
                       weft_status status);

class PluginDevice final : public Device {
 public:
  PluginDevice(const weft_backend& table, weft_device* device, std::string name);

  std::string_view name() const override { return name_; }
  std::byte* allocate(std::int64_t n_bytes) override;
  void release(std::byte* data) noexcept override;
  bool owns(const std::byte* data) const override;
  void upload(const DeviceCopy& copy) override;
  void download(const DeviceCopy& copy) override;
  void finish() override;

  struct Place {
    weft_buffer* buffer = nullptr;  // null: not of this device
    std::int64_t offset = 0;
  };
  Place place_of(const std::byte* data) const;
  weft_queue* queue() const { return queue_; }
  std::recursive_mutex& mutex() { return mutex_; }  // held during every call for this device

  // A device that is lost takes no calls any more.
  void note(weft_status status) {
    if (status == WEFT_DEVICE_LOST) lost_ = true;
  }
  bool lost() const { return lost_; }

 private:
  using Copying = weft_status (*)(weft_queue*, const weft_copy*);
  void copy(Copying how, std::string_view what, const DeviceCopy& copy);
  void expect_alive() const;

  const weft_backend& table_;
  weft_device* device_;
  std::string name_;
  weft_queue* queue_ = nullptr;
  std::atomic<bool> lost_ = false;
  struct Buffer {
    std::int64_t size = 0;  // bytes of the reserved range
    weft_buffer* buffer = nullptr;
  };
  std::map<const std::byte*, Buffer> buffers_;  // by first address
  mutable std::recursive_mutex mutex_;
};

}  // namespace weft::plugin
