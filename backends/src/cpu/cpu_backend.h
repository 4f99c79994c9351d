#pragma once

#include "weft/backends/backend.h"

#include "cpu/isa.h"
#include "cpu/tuning.h"

namespace weft::cpu {

// The cpu backend for a machine with these features, and the values that were measured on it.
class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(FeatureSet features, TunedValues values = {});
  std::string_view name() const override { return "cpu"; }
  std::string description() const override;
  std::optional<Kernel> find(const Graph& graph, const Node& node) const override;
  std::unique_ptr<PreparedKernel> prepare(const Graph& graph, const Node& node, const KernelArgs&,
                                          KernelFailure&) const override;
  std::span<const Pass> lowering() const override { return {&lowering_, 1}; }
  std::span<const Pass> resident_lowering() const override { return {&resident_lowering_, 1}; }
  std::span<const DType> layouts() const override;
  std::string_view bits_of(std::string_view row) const override;
  FeatureSet features() const { return machine_.features; }
  const TunedValues& values() const { return values_; }

 private:
  TunedValues values_;
  Machine machine_;
  Pass lowering_, resident_lowering_;
};

}  // namespace weft::cpu
