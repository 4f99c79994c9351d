#pragma once
// Describes a node with the structs of the ABI.

#include <deque>
#include <string>
#include <vector>

#include "weft/backends/abi.h"
#include "weft/backends/backend.h"

namespace weft::plugin {

class PluginDevice;

// Holds everything that node() points to.
class NodeDescription {
 public:
  // `args` and `device`: where the tensors are; null while plans are made, and for host memory.
  NodeDescription(const Graph& graph, const Node& node, const KernelArgs* args = nullptr,
                  const PluginDevice* device = nullptr);
  NodeDescription(const NodeDescription&) = delete;
  NodeDescription& operator=(const NodeDescription&) = delete;

  const weft_node& node() const { return node_; }

 private:
  weft_tensor describe(const Graph& graph, NodeId id) const;
  void place(weft_tensor& tensor, const View& view, const PluginDevice* device) const;
  void place_scratch(std::span<std::byte> scratch, const PluginDevice* device);
  void add_attrs(const Attrs& attrs);

  weft_node node_{};
  std::vector<weft_tensor> tensors_;  // inputs, then the output
  std::vector<const weft_tensor*> inputs_;
  std::deque<std::string> texts_;
  std::vector<weft_attr> attrs_;
};

}  // namespace weft::plugin
