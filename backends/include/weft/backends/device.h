#pragma once
// Memory of a backend that the host cannot access, such as a GPU's. Its addresses are ranges of the
// host's address space that are reserved but never backed. So plans, views and kernels can treat
// device pointers like any others, and a mistaken access from the host faults at once.

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weft/base/error.h"

namespace weft {

// `n_rows` runs of `row_bytes` bytes each, with a stride on either side.
struct DeviceCopy {
  std::int64_t n_rows = 1, row_bytes = 0;
  std::byte* device = nullptr;
  std::int64_t device_stride = 0;
  std::byte* host = nullptr;  // upload() only reads from it
  std::int64_t host_stride = 0;
};

// Any number of threads may use one. All members but owns() throw Error with the device's message.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;  // the backend's: "opencl"

  virtual std::byte* allocate(std::int64_t n_bytes) = 0;  // contents undefined
  virtual void release(std::byte* data) noexcept = 0;
  virtual bool owns(const std::byte* data) const = 0;  // points into an allocation of this device

  virtual void upload(const DeviceCopy& copy) = 0;    // the host may change its bytes afterwards
  virtual void download(const DeviceCopy& copy) = 0;  // the bytes have arrived when it returns
  virtual void finish() = 0;                          // waits until all submitted work is done
};

// Owns a piece of device memory; movable.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(Device& device, std::int64_t n_bytes)
      : device_(&device), data_(device.allocate(n_bytes)), size_(n_bytes) {}
  ~DeviceBuffer() {
    if (data_) device_->release(data_);
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : device_(other.device_),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  Device* device() const { return device_; }
  std::byte* data() const { return data_; }
  std::int64_t size() const { return size_; }  // bytes, as requested
  std::span<std::byte> bytes() const { return {data_, static_cast<std::size_t>(size_)}; }

 private:
  Device* device_ = nullptr;
  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
};

// A plug-in, or an op of another language, failed in a step.
class KernelError : public Error {
  using Error::Error;
};

// Collects errors of such kernels, which cannot throw. Keeps the first one. Thread-safe.
class KernelFailure {
 public:
  void raise(std::string text) noexcept {
    const std::lock_guard lock(mutex_);
    if (text_.empty()) text_ = std::move(text);
  }
  bool raised() const {
    const std::lock_guard lock(mutex_);
    return !text_.empty();
  }
  std::string take() {  // returns and clears the error; empty: none
    const std::lock_guard lock(mutex_);
    return std::exchange(text_, {});
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

}  // namespace weft
