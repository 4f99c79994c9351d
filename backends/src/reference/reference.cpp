// One kernel for every op: it calls the op's scalar definition.

#include "weft/backends/backend.h"

#include "intern.h"

namespace weft {
namespace {

void run(const KernelArgs& args, const Region&) noexcept {
  args.op->reference(*args.attrs, args.in, args.out);
}

class ReferenceBackend final : public Backend {
 public:
  std::string_view name() const override { return "reference"; }
  std::string description() const override { return "scalar definitions, double accumulators"; }
  std::optional<Kernel> find(const Graph&, const Node& node) const override {
    if (!node.op || !node.op->reference) return std::nullopt;
    return Kernel{.row = backends::intern(std::string(node.op->name) + " reference"),
                  .run = run,
                  .splits = false};
  }
};

}  // namespace

const Backend& reference_backend() {
  static const ReferenceBackend backend;
  return backend;
}

}  // namespace weft
