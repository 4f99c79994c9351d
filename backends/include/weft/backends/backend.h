#pragma once
// What a backend is: a name, a table of kernels, and the graph rewrites that its kernels like. It
// chooses a kernel for a node from the node's types and shapes alone, so that a plan can be made
// from a file's header; it knows nothing of threads, lanes or arenas. Backends are immutable and
// live as long as the program: any number of threads may use them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/graph.h"
#include "weft/graph/pass.h"
#include "weft/graph/view.h"

namespace weft {

class Backend;
class Device;
class KernelFailure;

// What a kernel made before its first call, once for every place where it is called.
class PreparedKernel {
 public:
  virtual ~PreparedKernel() = default;
};

// Everything a kernel gets, prepared when the plan is compiled; only extents change from step to
// step.
struct KernelArgs {
  const OpDef* op = nullptr;  // the node's: a kernel may serve many ops (the reference backend's
                              // one kernel serves all)
  const Attrs* attrs = nullptr;
  Views in;  // in the order of OpDef::inputs; absent ones have no data
  View out;
  std::span<std::byte> scratch;        // this lane's, at least Kernel::scratch_bytes, aligned to
                                       // kAlignment, contents undefined
  PreparedKernel* prepared = nullptr;  // what Backend::prepare made for this call
};

// Computes `region` of the output. Two lanes may run the same kernel at once on regions that do not
// overlap. Kernels trust the checked graph: no errors, no allocation, no locks. REQUIRES: region
// lies within the output, its columns on multiples of the op's col_granule.
using KernelFn = void (*)(const KernelArgs& args, const Region& region) noexcept;

struct Kernel {
  std::string_view row;  // "linear q8a q4_k avx512vnni": what plans and profiles print; lives as
                         // long as the program
  KernelFn run = nullptr;
  std::int64_t scratch_bytes = 0;  // per lane, for extents up to the bounds
  std::int64_t granule =
      1;  // columns it likes to get in multiples of (a tile's height); any region is correct
  bool splits = true;  // false: must compute the whole output in one call

  const Backend* backend = nullptr;  // whose it is; whoever asks a backend may leave it empty
  Device* device = nullptr;  // in whose memory its output, states and weights lie; null: the host's
  bool queued = false;       // hands its work to a device: all such calls come from one lane
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;    // "cpu": what --backend and routing rules take
  virtual std::string description() const = 0;  // "cpu, AVX-512 with VNNI"

  // The kernel for an op node of `graph`; nullopt where this backend cannot run it.
  virtual std::optional<Kernel> find(const Graph& graph, const Node& node) const = 0;

  // Rewrites applied after fusion, in this order. Each can be switched off by name.
  virtual std::span<const Pass> lowering() const { return {}; }

  // Rewrites applied after those when weights are copied into memory of our own: they give weights
  // those types of layouts() whose kernels are the best. Whoever applies them must bind every
  // weight in the type that its node then has. Switched off by name, too.
  virtual std::span<const Pass> resident_lowering() const { return {}; }

  // The types that it made for weights in memory (DType::layout() is not null), for those who check
  // its kernels. No other backend needs to know them, but for the definitions, which read any.
  virtual std::span<const DType> layouts() const { return {}; }

  // Its memory, where that is not the host's.
  virtual Device* device() const { return nullptr; }

  // Called for every place where a kernel of this backend will be called, when all tensors have
  // theirs (`args` is complete but for what this returns). Whatever fails later in the kernel goes
  // to `failure`, which outlives what is returned. Null: the kernel needs nothing. Throws Error.
  virtual std::unique_ptr<PreparedKernel> prepare(const Graph&, const Node&, const KernelArgs&,
                                                  KernelFailure&) const {
    return nullptr;
  }
};

// "reference": every op of the table by its scalar definition.
const Backend& reference_backend();

// "cpu": SIMD kernels. What they may use is chosen once, at the first call: all that this machine
// has, or the instruction set that WEFT_CPU_ISA names (cmake/instruction_sets.cmake). Throws
// ValueError if the name is unknown and UnsupportedError if the machine lacks the set.
const Backend& cpu_backend();
// The same with an instruction set chosen by name, to compare one with another. Throws like the
// first.
const Backend& cpu_backend(std::string_view isa);
// The names of the instruction sets that this machine has, best first.
std::span<const std::string_view> cpu_isas();

// All backends, best first: cpu, reference. Throws what cpu_backend() throws.
std::span<const Backend* const> all_backends();
// The backend of that name, built in or loaded (plugins.h), without a look at the others;
// "cpu:ISA" is the cpu backend with that instruction set. Throws ValueError listing the known
// names.
const Backend& find_backend(std::string_view name);

}  // namespace weft
