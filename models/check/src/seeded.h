#pragma once
// For tests: the reference backend with one kernel or one pass replaced.

#include <string>

#include "weft/backends/backend.h"

namespace weft::test {

class Seeded final : public Backend {
 public:
  // `run` computes the node with this path. `row` is the name of its kernel; `pass` is the
  // backend's lowering, if any.
  Seeded(std::string path, KernelFn run, std::string_view row = "seeded",
         const Pass* pass = nullptr)
      : path_(std::move(path)), run_(run), row_(row), pass_(pass) {}
  std::string_view name() const override { return "seeded"; }
  std::string description() const override { return "the reference backend with one change"; }
  std::optional<Kernel> find(const Graph& graph, const Node& node) const override {
    auto kernel = reference_backend().find(graph, node);
    if (row_ != "seeded" && kernel) kernel->row = row_;
    if (run_ && node.path == path_) return Kernel{.row = row_, .run = run_, .splits = false};
    return kernel;
  }
  std::span<const Pass> lowering() const override {
    return pass_ ? std::span<const Pass>(pass_, 1) : std::span<const Pass>();
  }

 private:
  std::string path_;
  KernelFn run_;
  std::string_view row_;
  const Pass* pass_;
};

}  // namespace weft::test
