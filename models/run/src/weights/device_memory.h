#pragma once
// A session's memory on devices: the weights and states that kernels there use, and activations.
// Prediction and allocation use the same list.

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/backends/device.h"
#include "weft/run/model.h"
#include "weft/scheduler/executor.h"
#include "weft/scheduler/plan.h"

namespace weft::run {

struct DeviceTensor {
  TensorSpec spec;
  bool weight = false;  // otherwise a state
};

struct DeviceUse {
  std::string backend;
  std::map<std::string, DeviceTensor> tensors;  // by path
  std::int64_t arena = 0, scratch = 0;          // max of all plans, since one step runs at a time
  std::int64_t bytes() const;
};

// The use by all plans of a session, by backend. REQUIRES: one plan per graph.
std::vector<DeviceUse> device_use(const std::vector<Graph>& graphs, const std::vector<Plan>& plans);

// The paths of weights that are not read in host memory.
std::vector<std::string> weights_off_host(const std::vector<Graph>& graphs,
                                          const std::vector<Plan>& plans);

class DeviceMemory {
 public:
  // Allocates, uploads the weights, clears the states. Throws Error.
  DeviceMemory(const Model& model, const DeviceUse& use);

  std::string_view backend() const { return use_.backend; }
  std::int64_t bytes() const;  // counted at the allocations
  DeviceBindings bindings() const;
  bool has_state(const std::string& path) const;
  // Reads `bytes` of a state, from byte `offset` on. REQUIRES: the state is on this device.
  void read_state(const std::string& path, std::int64_t offset, std::span<std::byte> bytes) const;
  void write_state(const std::string& path, std::int64_t offset, std::span<const std::byte> bytes);

 private:
  void fill(const Model& model, const std::string& path, const DeviceTensor& tensor);
  void upload(std::byte* to, std::span<const std::byte> bytes);

  const DeviceUse use_;
  Device& device_;
  std::unordered_map<std::string, DeviceBuffer> tensors_;
  DeviceBuffer arena_, scratch_;
};

}  // namespace weft::run
