#include "weights/device_memory.h"

#include <algorithm>
#include <set>

#include "weft/backends/backend.h"
#include "weft/backends/memory.h"
#include "weft/base/error.h"

#include "weights/weight_loader.h"

namespace weft::run {
namespace {

Device& device_of(const std::string& backend) {
  Device* const device = find_backend(backend).device();
  if (!device) fail<Error>("backend {} has no separate memory", backend);
  return *device;
}

DeviceUse& use_of(std::vector<DeviceUse>& all, const std::string& backend) {
  const auto at = std::ranges::find(all, backend, &DeviceUse::backend);
  return at != all.end() ? *at : all.emplace_back(DeviceUse{.backend = backend});
}

}  // namespace

std::int64_t DeviceUse::bytes() const {
  std::int64_t sum = arena + scratch;
  for (const auto& [path, tensor] : tensors) sum += align_up(tensor.spec.bytes());
  return sum;
}

std::vector<DeviceUse> device_use(const std::vector<Graph>& graphs,
                                  const std::vector<Plan>& plans) {
  std::vector<DeviceUse> all;
  for (std::size_t n = 0; n < plans.size(); ++n) {
    for (std::size_t i = 0; i < plans[n].devices.size(); ++i) {
      const PlanDevice& device = plans[n].devices[i];
      DeviceUse& use = use_of(all, device.backend);
      use.arena = std::max(use.arena, device.arena_bytes);
      use.scratch = std::max(use.scratch, device.scratch_bytes);
      const MemoryId memory = device_memory(i);
      for (NodeId id = 0; id < graphs[n].size(); ++id) {
        const Node& node = graphs[n][id];
        const Placement& p = plans[n].placements[id];
        const bool weight = node.kind == NodeKind::weight;
        const bool here = weight ? p.weight_in.contains(memory)
                                 : node.kind == NodeKind::state && p.memory == memory;
        if (here) use.tensors.emplace(node.path, DeviceTensor{node.spec, weight});
      }
    }
  }
  return all;
}

std::vector<std::string> weights_off_host(const std::vector<Graph>& graphs,
                                          const std::vector<Plan>& plans) {
  std::set<std::string> off, on;
  for (std::size_t n = 0; n < plans.size(); ++n) {
    for (NodeId id = 0; id < graphs[n].size(); ++id) {
      const Placement& p = plans[n].placements[id];
      if (graphs[n][id].kind != NodeKind::weight) continue;
      const bool only_there = p.weight_in.any_device() && !p.weight_in.contains(MemoryId::host);
      (only_there ? off : on).insert(graphs[n][id].path);
    }
  }
  std::vector<std::string> paths;
  std::ranges::set_difference(off, on, std::back_inserter(paths));
  return paths;
}

DeviceMemory::DeviceMemory(const Model& model, const DeviceUse& use)
    : use_(use), device_(device_of(use.backend)) {
  for (const auto& [path, tensor] : use_.tensors) fill(model, path, tensor);
  arena_ = DeviceBuffer(device_, use_.arena);
  scratch_ = DeviceBuffer(device_, use_.scratch);
}

void DeviceMemory::fill(const Model& model, const std::string& path, const DeviceTensor& tensor) {
  const auto n_bytes = static_cast<std::size_t>(tensor.spec.bytes());
  DeviceBuffer& buffer =
      tensors_.emplace(path, DeviceBuffer(device_, align_up(tensor.spec.bytes()))).first->second;
  if (!tensor.weight) return upload(buffer.data(), std::vector<std::byte>(n_bytes));
  const CheckpointTensor& from = *model.weights().find_tensor(path);
  if (from.spec.dtype == tensor.spec.dtype && from.runs.empty())
    return upload(buffer.data(), {from.data, n_bytes});
  upload(buffer.data(), read_weight(model.weights(), from, tensor.spec.dtype));
}

void DeviceMemory::upload(std::byte* to, std::span<const std::byte> bytes) {
  device_.upload({.n_rows = 1,
                  .row_bytes = std::ssize(bytes),
                  .device = to,
                  .device_stride = std::ssize(bytes),
                  .host = const_cast<std::byte*>(bytes.data()),  // an upload only reads from it
                  .host_stride = std::ssize(bytes)});
}

std::int64_t DeviceMemory::bytes() const {
  std::int64_t sum = arena_.size() + scratch_.size();
  for (const auto& [path, buffer] : tensors_) sum += buffer.size();
  return sum;
}

DeviceBindings DeviceMemory::bindings() const {
  return {.at = [this](const Node& node) { return tensors_.at(node.path).data(); },
          .arena = arena_.bytes(),
          .scratch = scratch_.bytes()};
}

bool DeviceMemory::has_state(const std::string& path) const {
  const auto tensor = use_.tensors.find(path);
  return tensor != use_.tensors.end() && !tensor->second.weight;
}

void DeviceMemory::read_state(const std::string& path, std::int64_t offset,
                              std::span<std::byte> bytes) const {
  device_.finish();  // waits for the writes of steps
  device_.download({.n_rows = 1,
                    .row_bytes = std::ssize(bytes),
                    .device = tensors_.at(path).data() + offset,
                    .device_stride = std::ssize(bytes),
                    .host = bytes.data(),
                    .host_stride = std::ssize(bytes)});
}

void DeviceMemory::write_state(const std::string& path, std::int64_t offset,
                               std::span<const std::byte> bytes) {
  upload(tensors_.at(path).data() + offset, bytes);
}

}  // namespace weft::run
