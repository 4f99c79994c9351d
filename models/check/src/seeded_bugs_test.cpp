// Kernels with one mistake each, of the kinds that people make: the proof has to name the node.

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/backends/backend.h"
#include "weft/check/bisect.h"
#include "weft/check/verify_model.h"
#include "weft/ops/formats/format.h"
#include "weft/ops/formats/q4_0.h"
#include "weft/ops/norms/rms_norm.h"
#include "weft/ops/norms/rms_norm_mul.h"
#include "weft/ops/positions/rope.h"

#include "seeded.h"
#include "support/tiny_model.h"

namespace weft::test {
namespace {

void each_block(const View& view, void (*f)(Q4_0::Block&)) {
  for (std::int64_t r = 0; r < view.rows(); ++r) {
    for (std::int64_t b = 0; b < view.cols() / Q4_0::kBlock; ++b) f(view.row<Q4_0::Block>(r)[b]);
  }
}

void swapped_nibbles(const KernelArgs& args, const Region&) noexcept {
  Spoilt s(args);
  each_block(s.own(1), [](Q4_0::Block& b) {
    for (auto& q : b.q) q = static_cast<std::uint8_t>(q << 4 | q >> 4);
  });
  s.run();
}

void missing_scale(const KernelArgs& args, const Region&) noexcept {
  Spoilt s(args);
  each_block(s.own(2), [](Q4_0::Block& b) { b.d = 0x3c00; });  // 1 in half precision
  s.run();
}

void tail_of_sums_left_out(const KernelArgs& args, const Region&) noexcept {
  Spoilt s(args);
  View& x = s.own(0);
  for (std::int64_t r = 0; r < x.rows(); ++r) x.row<float>(r)[x.cols() - 1] = 0;
  s.run();
}

void last_column_not_written(const KernelArgs& args, const Region&) noexcept {
  std::vector<float> before;
  const std::int64_t last = args.out.cols() - 1;
  for (std::int64_t r = 0; r < args.out.rows(); ++r) before.push_back(args.out.row<float>(r)[last]);
  Spoilt(args).run();
  for (std::int64_t r = 0; r < args.out.rows(); ++r)
    args.out.row<float>(r)[last] = before[static_cast<std::size_t>(r)];
}

// [H, E] written as [E, H].
void transposed_heads(const KernelArgs& args, const Region&) noexcept {
  Spoilt(args).run();
  const std::int64_t H = args.out.dim(1), E = args.out.dim(2);
  for (std::int64_t r = 0; r < args.out.rows(); ++r) {
    float* y = args.out.row<float>(r);
    const std::vector<float> right(y, y + H * E);
    for (std::int64_t i = 0; i < H * E; ++i)
      y[i % E * H + i / E] = right[static_cast<std::size_t>(i)];
  }
}

// Head h takes keys and values of group h % G instead of h / (H / G).
void heads_of_another_group(const KernelArgs& args, const Region&) noexcept {
  Spoilt s(args);
  const View& q = s.own(0);
  const std::int64_t H = q.dim(1), E = q.dim(2), Ev = args.out.dim(2);
  const auto swap_middle = [&](const View& view, std::int64_t width) {
    for (std::int64_t r = 0; r < view.rows(); ++r) {
      float* row = view.row<float>(r);
      std::swap_ranges(row + width, row + 2 * width, row + 2 * width);  // H = 4, G = 2
    }
  };
  if (H != 4) return;
  swap_middle(q, E);
  s.run();
  swap_middle(args.out, Ev);
}

void stale_cache_row(const KernelArgs& args, const Region&) noexcept {
  Spoilt s(args);
  for (const std::size_t i : {1u, 2u}) --s.in[i].dims[0];
  if (s.in[1].dims[0] > 0) s.run();
}

void mask_off_by_one(const KernelArgs& args, const Region&) noexcept {
  Spoilt s(args);
  const View& first = s.in[5];
  const View& last = s.own(6);
  for (std::int64_t i = 0; i < last.cols(); ++i) {
    std::int32_t& cell = last.row<std::int32_t>(0)[i];
    cell = std::max(cell - 1, first.row<std::int32_t>(0)[i]);
  }
  s.run();
}

void other_pairs_rotated(const KernelArgs& args, const Region&) noexcept {
  const auto& attrs = args.attrs->as<RopeApplyAttrs>();
  const bool adjacent = attrs.pairs == RopePairs::adjacent;
  Spoilt(args).run_with(RopeApplyAttrs{adjacent ? RopePairs::halves : RopePairs::adjacent});
}

void weight_of_norm_forgotten(const KernelArgs& args, const Region&) noexcept {
  Spoilt s(args);
  const View& w = s.own(1);
  std::fill_n(w.row<float>(0), w.cols(), 1.0f);
  s.run();
}

void gate_and_up_swapped(const KernelArgs& args, const Region&) noexcept {
  Spoilt s(args);
  std::swap(s.in[1], s.in[2]);
  s.run();
}

void rows_off_by_one(const KernelArgs& args, const Region&) noexcept {
  Spoilt s(args);
  const View& ids = s.own(1);
  for (std::int64_t i = 0; i < ids.cols(); ++i)
    ids.row<std::int32_t>(0)[i] = (ids.row<std::int32_t>(0)[i] + 1) % 50;
  s.run();
}

void residual_forgotten(const KernelArgs& args, const Region&) noexcept {
  Spoilt s(args);
  s.in[3] = {};
  s.run();
}

void sums_in_half_precision(const KernelArgs& args, const Region&) noexcept {
  Spoilt(args).run();
  std::vector<std::byte> half(static_cast<std::size_t>(2 * args.out.cols()));
  for (std::int64_t r = 0; r < args.out.rows(); ++r) {
    float* y = args.out.row<float>(r);
    find_format(f16)->encode(y, half.data(), args.out.cols());
    find_format(f16)->decode(half.data(), y, args.out.cols());
  }
}

constexpr Bug kBugs[] = {
    {"swapped nibbles", "output", swapped_nibbles},
    {"missing scale", "blk.1.ffn_act", missing_scale},
    {"the last element of sums left out", "blk.1.attn_residual", tail_of_sums_left_out},
    {"the last column not written", "blk.0.ffn_residual", last_column_not_written},
    {"transposed heads", "blk.1.attn", transposed_heads},
    {"heads of another group", "blk.0.attn", heads_of_another_group},
    {"stale row in the cache", "blk.1.cache_k", stale_cache_row},
    {"mask off by one", "blk.1.attn", mask_off_by_one},
    {"other pairs rotated", "blk.1.attn_k_rope", other_pairs_rotated},
    {"the norm's weight forgotten", "blk.0.ffn_norm", weight_of_norm_forgotten},
    {"gate and up swapped", "blk.0.ffn_act", gate_and_up_swapped},
    {"rows off by one", "get_rows", rows_off_by_one},
    {"residual forgotten", "blk.1.ffn_residual", residual_forgotten},
    {"sums in half precision", "output", sums_in_half_precision},
};

}  // namespace

TEST_CASE("without a bug every node passes and there is no culprit") {
  const Seeded right("", nullptr);
  const ModelVerification result = verify_model(
      seeded_model(), {.session = seeded_session(right), .tokens = kIds, .plain = true});
  INFO(result.to_text());
  CHECK(result.passed());
  CHECK(result.steps.size() == 2);
  CHECK(result.nmse_from_plain >= 0);
  CHECK(result.nmse_from_plain < 1e-9);  // fused sums round apart
  CHECK(result.same_best == result.logits_rows);
  CHECK(bisect(seeded_model(), {.session = seeded_session(right), .tokens = kIds}).culprit ==
        Bisection::Culprit::none);
}

TEST_CASE("verify names the node of every seeded bug, and no other") {
  for (const Bug& bug : kBugs) {
    CAPTURE(bug.name);
    const Seeded wrong(bug.path, bug.run);
    const ModelVerification result = verify_model(
        seeded_model(), {.session = seeded_session(wrong), .tokens = kIds, .plain = false});
    REQUIRE(result.first_bad());
    CHECK(result.first_bad()->path == bug.path);
    CHECK(result.first_bad()->kernel == "seeded");
    CHECK(result.first_bad()->where.find("models/arch/src/") != std::string::npos);
    CHECK_FALSE(result.passed());
    for (const VerifiedStep& step : result.steps) {
      for (const NodeCheck& node : step.report.nodes) {
        CAPTURE(node.path);
        if (node.path != bug.path) CHECK(node.passed());
      }
    }
  }
}

TEST_CASE("bisect blames the kernel and finds the first node that is enough") {
  for (const Bug& bug : kBugs) {
    CAPTURE(bug.name);
    const Seeded wrong(bug.path, bug.run);
    const Bisection found =
        bisect(seeded_model(), {.session = seeded_session(wrong), .tokens = kIds});
    INFO(found.to_text());
    CHECK(found.culprit == Bisection::Culprit::kernel);
    CHECK(found.rows == std::vector<std::string>{"seeded"});
    CHECK(found.first_node == bug.path);
    CHECK(found.where.find("models/arch/src/") != std::string::npos);
    CHECK(found.nmse_without <= found.limit);
  }
}

TEST_CASE("bisect finds the only node that a kernel computes wrong") {
  // The same row everywhere, wrong in one place.
  const Seeded wrong("blk.1.attn_residual", tail_of_sums_left_out, "reference");
  const Bisection found =
      bisect(seeded_model(), {.session = seeded_session(wrong), .tokens = kIds});
  INFO(found.to_text());
  CHECK(found.culprit == Bisection::Culprit::kernel);
  CHECK(found.nodes.size() > 1);
  CHECK(found.first_node == "blk.1.attn_residual");
}

// The cpu backend of this machine, except for one node.
class WrongCpu final : public Backend {
 public:
  std::string_view name() const override { return "cpu"; }
  std::string description() const override { return cpu_backend().description(); }
  std::optional<Kernel> find(const Graph& graph, const Node& node) const override {
    auto kernel = cpu_backend().find(graph, node);
    if (node.path == "blk.1.ffn_residual") {
      kernel->run = residual_forgotten;
      kernel->row = "wrong row";
      kernel->splits = false;
    }
    return kernel;
  }
  std::span<const Pass> lowering() const override { return cpu_backend().lowering(); }
  std::span<const Pass> resident_lowering() const override {
    return cpu_backend().resident_lowering();
  }
};

TEST_CASE("bisect tries the rows of other instruction sets in place of the wrong one") {
  const WrongCpu wrong;
  for (const WeightMode weights : {WeightMode::mapped, WeightMode::resident}) {
    SessionOptions session = seeded_session(wrong);
    session.weights = weights;
    const Bisection found = bisect(seeded_model(), {.session = session, .tokens = kIds});
    INFO(found.to_text());
    CHECK(found.culprit == Bisection::Culprit::kernel);
    CHECK(found.rows == std::vector<std::string>{"wrong row"});
    CHECK(found.first_node == "blk.1.ffn_residual");
    CHECK(found.others.size() == cpu_isas().size() - 1);
    for (const std::string& other : found.others) {
      CAPTURE(other);
      CHECK(other.find(": right") != std::string::npos);
    }
  }
}

TEST_CASE("bisect blames a pass that makes another graph, which verify cannot see") {
  const Pass sloppy{
      .name = "sloppy_norms", .summary = "a wrong epsilon", .apply = [](const Graph& graph) {
        Rewriter rewriter(graph, "sloppy_norms");
        for (NodeId id = 0; id < graph.size(); ++id) {
          if (graph[id].op != &kRmsNormMul) {
            rewriter.copy(id);
            continue;
          }
          std::vector<Tensor> in;
          for (const NodeId i : graph[id].inputs) in.push_back(rewriter(i));
          rewriter.replace(id, kRmsNormMul, in, RmsNormAttrs{0.5f});
        }
        return rewriter.finish();
      }};
  const Seeded wrong("", nullptr, "seeded", &sloppy);
  CHECK(verify_model(seeded_model(),
                     {.session = seeded_session(wrong), .tokens = kIds, .plain = false})
            .passed());
  const Bisection found =
      bisect(seeded_model(), {.session = seeded_session(wrong), .tokens = kIds});
  INFO(found.to_text());
  CHECK(found.culprit == Bisection::Culprit::pass);
  CHECK(found.passes == std::vector<std::string>{"sloppy_norms"});
  CHECK(found.to_text().find("culprit: pass sloppy_norms") != std::string::npos);
}

}  // namespace weft::test
