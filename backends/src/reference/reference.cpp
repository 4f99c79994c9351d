// One kernel for every op: it calls the op's scalar definition.

#include <exception>
#include <memory>
#include <string>

#include "weft/backends/backend.h"
#include "weft/backends/device.h"
#include "weft/base/intern.h"
#include "weft/base/no_destructor.h"

namespace weft {
namespace {

void run(const KernelArgs& args, const Region&) noexcept {
  args.op->reference(*args.attrs, args.in, args.out);
}

// What a custom op needs to report its errors.
class PreparedCustom final : public PreparedKernel {
 public:
  PreparedCustom(KernelFailure& f, const std::string& path) : failure(f), node(path) {}
  KernelFailure& failure;
  const std::string node;
};

void run_custom(const KernelArgs& args, const Region&) noexcept {
  const auto& prepared = static_cast<const PreparedCustom&>(*args.prepared);
  if (prepared.failure.raised()) return;
  try {
    args.op->reference(*args.attrs, args.in, args.out);
  } catch (const std::exception& error) {
    prepared.failure.raise("node '" + prepared.node + "': " + error.what());
  }
}

class ReferenceBackend final : public Backend {
 public:
  std::string_view name() const override { return "reference"; }
  std::string description() const override { return "scalar definitions, double accumulators"; }
  std::optional<Kernel> find(const Graph&, const Node& node) const override {
    if (!node.op || !node.op->reference) return std::nullopt;
    const char* kind = node.op->custom ? " custom" : " reference";
    return Kernel{.row = intern(std::string(node.op->name) + kind),
                  .run = node.op->custom ? run_custom : run,
                  .splits = false};
  }
  std::unique_ptr<PreparedKernel> prepare(const Graph&, const Node& node, const KernelArgs&,
                                          KernelFailure& failure) const override {
    if (!node.op->custom) return nullptr;
    return std::make_unique<PreparedCustom>(failure, node.path);
  }
};

}  // namespace

const Backend& reference_backend() {
  static const NoDestructor<ReferenceBackend> backend;
  return *backend;
}

}  // namespace weft
