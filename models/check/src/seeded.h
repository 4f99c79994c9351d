#pragma once
// For tests: the reference backend with one kernel or one pass replaced, and parts for kernels with
// a mistake.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "weft/backends/backend.h"
#include "weft/ops/formats/q4_0.h"
#include "weft/run/session.h"

#include "support/tiny_model.h"

namespace weft::test {

class Seeded final : public Backend {
 public:
  // `run` computes the node with this path. `row` is the name of its kernel; `pass` is the
  // backend's lowering, if any; `tiles` are Kernel::token_tiles of the kernel.
  Seeded(std::string path, KernelFn run, std::string_view row = "seeded",
         const Pass* pass = nullptr, std::vector<std::int64_t> tiles = {})
      : path_(std::move(path)), run_(run), row_(row), pass_(pass), tiles_(std::move(tiles)) {}
  std::string_view name() const override { return "seeded"; }
  std::string description() const override { return "the reference backend with one change"; }
  std::optional<Kernel> find(const Graph& graph, const Node& node) const override {
    auto kernel = reference_backend().find(graph, node);
    if (row_ != "seeded" && kernel) kernel->row = row_;
    if (run_ && node.path == path_)
      return Kernel{.row = row_, .run = run_, .splits = false, .token_tiles = tiles_};
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
  std::vector<std::int64_t> tiles_;
};

// Inputs that a kernel may spoil without the graph's noticing.
struct Spoilt {
  std::vector<View> in;
  std::vector<std::vector<std::byte>> copies;
  const KernelArgs& args;

  explicit Spoilt(const KernelArgs& a) : in(a.in.begin(), a.in.end()), args(a) {}
  // Input i, from now on a copy, rows back to back.
  View& own(std::size_t i) {
    View& view = in[i];
    const std::int64_t row = view.dtype.bytes(view.cols());
    auto& bytes = copies.emplace_back(static_cast<std::size_t>(row * view.rows()));
    for (std::int64_t r = 0; r < view.rows(); ++r)
      std::memcpy(bytes.data() + r * row, view.row<std::byte>(r), static_cast<std::size_t>(row));
    view.data = bytes.data();
    view.row_stride = row;
    return view;
  }
  void run() { args.op->reference(*args.attrs, in, args.out); }
  void run_with(const Attrs& attrs) { args.op->reference(attrs, in, args.out); }
};

struct Bug {
  const char* name;
  const char* path;
  KernelFn run;
};
// Too few to cross a border.
inline const std::vector<std::int32_t> kIds = {7, 3, 11, 3, 42, 9, 1};

inline std::shared_ptr<const Model> seeded_model() {
  static const auto one = tiny_model({.matrices = q4_0});
  return one;
}

inline SessionOptions seeded_session(const Backend& backend) {
  return {.context = 16,
          .backend_instance = &backend,
          .cache_k = f32,
          .cache_v = f32,
          .weights = WeightMode::mapped};
}

}  // namespace weft::test
