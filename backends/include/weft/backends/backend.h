#pragma once
// A backend: a name, a table of kernels, and the graph rewrites that suit its kernels. It chooses a
// kernel for a node from the node's types and shapes alone, so that a plan can be made from a
// file's header. It knows nothing of threads, lanes or arenas. Backends are immutable and live as
// long as the program; any number of threads may use them.

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

// The object that Backend::prepare() creates for one call site of a kernel.
class PreparedKernel {
 public:
  virtual ~PreparedKernel() = default;
};

// The arguments of a kernel, prepared when the plan is compiled. Only extents change from step to
// step.
struct KernelArgs {
  const OpDef* op = nullptr;  // the node's op: one kernel may implement many ops (the reference
                              // backend's only kernel implements all)
  const Attrs* attrs = nullptr;
  Views in;  // in the order of OpDef::inputs; absent ones have no data
  View out;
  // This lane's scratch memory: at least Kernel::scratch_bytes, aligned to kAlignment, contents
  // undefined.
  std::span<std::byte> scratch;
  PreparedKernel* prepared = nullptr;  // from Backend::prepare()
};

// Computes `region` of the output. Two lanes may run the same kernel at the same time on regions
// that do not overlap. Kernels trust the checked graph: no errors, no allocation, no locks.
// REQUIRES: the region is within the output, and its columns are multiples of the op's col_granule.
using KernelFn = void (*)(const KernelArgs& args, const Region& region) noexcept;

// Computes several ranges of columns of all rows of the output, with the bits that KernelFn gives
// for each range. REQUIRES: the ranges are sorted and do not overlap.
using KernelColsFn = void (*)(const KernelArgs& args, std::span<const ColRange> cols) noexcept;

struct Kernel {
  std::string_view row;  // its name in plans and profiles, "linear q8a q4_k avx512vnni"; lives as
                         // long as the program
  KernelFn run = nullptr;
  KernelColsFn run_cols = nullptr;  // for kernels that save work if they see all ranges of a lane;
                                    // null: run() is called for each range
  std::int64_t scratch_bytes = 0;   // per lane, for extents up to the bounds
  std::int64_t granule = 1;  // preferred multiple of columns (a tile's height); any region works
  bool splits = true;        // false: must compute the whole output in one call
  bool pages_rows = false;   // reads the rows of a weight by View::paged if that is set
  // Numbers of tokens that fill a tile or a path for few tokens: with one more, the kernel computes
  // in another way, to the same bits. For checks, which run steps on both sides of them.
  std::vector<std::int64_t> token_tiles = {};

  const Backend* backend = nullptr;  // set by Routes::find() and Assignment::find()
  Device* device = nullptr;          // the owner of its output, states and weights; null: the host
  bool queued = false;  // submits its work to a device: all such calls come from one lane
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;    // "cpu", for --backend and routing rules
  virtual std::string description() const = 0;  // "cpu, AVX-512 with VNNI"

  // The kernel for an op node of `graph`; nullopt if this backend cannot run it.
  virtual std::optional<Kernel> find(const Graph& graph, const Node& node) const = 0;

  // Rewrites applied after fusion, in this order. Each can be switched off by name.
  virtual std::span<const Pass> lowering() const { return {}; }

  // Rewrites applied after lowering() when weights are resident: they give weights the types of
  // layouts() that have the best kernels. Every weight must then be bound in the type of its node.
  // Can be switched off by name, too.
  virtual std::span<const Pass> resident_lowering() const { return {}; }

  // The types that it defines for weights in memory (DType::layout() is not null), for conformance
  // checks. Other backends need not know them; definitions can read any type.
  virtual std::span<const DType> layouts() const { return {}; }

  // A name of the bits that its kernel of this name (Kernel::row) gives: kernels of which it is the
  // same give the same bits for the same node, on whatever processor.
  virtual std::string_view bits_of(std::string_view row) const { return row; }

  // The device whose memory it computes in; null: the host.
  virtual Device* device() const { return nullptr; }

  // Called once per call site of a kernel of this backend, after all tensors were placed (`args` is
  // complete except for `prepared`). The kernel reports later failures through `failure`, which
  // outlives the result. Returns null if the kernel needs no preparation. Throws Error.
  virtual std::unique_ptr<PreparedKernel> prepare(const Graph&, const Node&, const KernelArgs&,
                                                  KernelFailure&) const {
    return nullptr;
  }
};

// "reference": computes every op by its scalar definition.
const Backend& reference_backend();

// "cpu": SIMD kernels. The instruction set is chosen once, at the first call: the best of this
// machine, or the one that WEFT_CPU_ISA names (cmake/instruction_sets.cmake). Throws ValueError if
// the name is unknown and UnsupportedError if the machine lacks the set.
const Backend& cpu_backend();
// The same with an instruction set chosen by name, to compare several. Throws like the first.
const Backend& cpu_backend(std::string_view isa);
// The names of the instruction sets that this machine has, best first.
std::span<const std::string_view> cpu_isas();

// The names of the built-in backends, best first: "cpu", "reference". Does not initialize them.
std::span<const std::string_view> built_in_backends();
// These backends. Throws as cpu_backend().
std::span<const Backend* const> all_backends();
// The backend of that name, built in or from a plug-in (plugins.h). "cpu:ISA" is the cpu backend
// with that instruction set. Does not initialize other backends. Throws ValueError listing the
// known names.
const Backend& find_backend(std::string_view name);

}  // namespace weft
