#pragma once
// Host copies of the tensors of a call on a device, for observers. Allocates; only observed runs
// use it.

#include <cstddef>
#include <vector>

#include "weft/backends/backend.h"

#include "replay/bound_plan.h"

namespace weft::scheduler {

class HostCopies {
 public:
  // `wanted` false: the observer gets the call's own arguments.
  HostCopies(const KernelCall& call, bool wanted);
  HostCopies(const HostCopies&) = delete;
  HostCopies& operator=(const HostCopies&) = delete;

  // Both throw Error with the device's message.
  void fetch_inputs();
  void fetch_output();
  const KernelArgs& args() const { return wanted_ ? args_ : call_.args; }

 private:
  void fetch(const View& from, View& to, std::vector<std::byte>& memory);

  const KernelCall& call_;
  bool wanted_;
  KernelArgs args_;
  std::vector<View> in_;
  std::vector<std::vector<std::byte>> memories_;  // host memory: the inputs, then the output
};

}  // namespace weft::scheduler
