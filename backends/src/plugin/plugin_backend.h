#pragma once
// One device of a plug-in as a backend.

#include <memory>
#include <string>

#include "weft/backends/abi.h"
#include "weft/backends/backend.h"

#include "plugin/plugin_device.h"

namespace weft::plugin {

class PluginBackend final : public Backend {
 public:
  // Throws Error if the device cannot be opened.
  PluginBackend(const weft_backend& table, std::int32_t device, std::string name);

  std::string_view name() const override { return name_; }
  std::string description() const override { return description_; }
  std::optional<Kernel> find(const Graph& graph, const Node& node) const override;
  Device* device() const override { return memory_.get(); }
  std::unique_ptr<PreparedKernel> prepare(const Graph& graph, const Node& node,
                                          const KernelArgs& args,
                                          KernelFailure& failure) const override;

 private:
  const weft_backend& table_;
  std::string name_, description_;
  weft_device* device_ = nullptr;
  std::unique_ptr<PluginDevice> memory_;  // null: the host's
};

}  // namespace weft::plugin
