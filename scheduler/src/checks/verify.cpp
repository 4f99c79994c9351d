#include "weft/scheduler/verify.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <limits>
#include <optional>

#include "weft/base/error.h"
#include "weft/ops/formats/format.h"

#include "exchange/exchange.h"

namespace weft {
namespace {

// A tensor with its own memory, rows back to back.
struct Scratch {
  std::vector<std::byte> bytes;
  View view;

  explicit Scratch(const View& like, DType dtype) : view(like) {
    view.dtype = dtype;
    view.row_stride = dtype.bytes(like.cols());
    bytes.resize(static_cast<std::size_t>(view.row_stride * like.rows()));
    view.data = bytes.data();
  }
};

Scratch copy_of(const View& from) {
  Scratch copy(from, from.dtype);
  for (std::int64_t r = 0; r < from.rows(); ++r) {
    std::memcpy(copy.view.row<std::byte>(r), from.row<std::byte>(r),
                static_cast<std::size_t>(copy.view.row_stride));
  }
  return copy;
}

// One row as floats.
void decode_row(const View& view, std::int64_t r, std::vector<float>& out) {
  out.resize(static_cast<std::size_t>(view.cols()));
  if (const Format* format = find_format(view.dtype)) {
    format->decode(view.row<std::byte>(r), out.data(), view.cols());
  } else {
    fail<UnsupportedError>("cannot read {}", view.dtype.name());
  }
}

// The expected values of a node: of its output, or of the state that it updates.
struct Expected {
  Scratch values;
  std::optional<Scratch> bounds;  // empty: 4 ulp of the value
};

constexpr std::int64_t kAround = 3;  // elements shown on either side of the worst one

// The distance to the next float.
double ulp_of(float value) {
  if (!std::isfinite(value)) return 0;
  const float magnitude = std::fabs(value);
  const float next = std::nextafter(magnitude, std::numeric_limits<float>::infinity());
  return std::isinf(next) ? 0x1p104 : static_cast<double>(next) - magnitude;
}

// Infinite if either is: an infinite bound would allow everything.
double ratio_of(double error, double bound) {
  if (!std::isfinite(error) || !std::isfinite(bound))
    return std::numeric_limits<double>::infinity();
  if (error <= bound) return bound > 0 ? error / bound : 0;
  return bound > 0 ? error / bound : std::numeric_limits<double>::infinity();
}

}  // namespace

struct Verifier::Impl {
  const Graph& graph;
  NodeId expected_node = kNoNode;
  std::optional<Expected> output, state;
  VerifyReport report;
  std::exception_ptr failure;

  void expect(const PlanStep& step, const KernelArgs& args);
  void compare(const PlanStep& step, const KernelArgs& args);
  void compare(NodeCheck check, const View& got, const Expected& want);
  void compare_row(NodeCheck& check, const View& got, const Expected& want, std::int64_t r);
  void collect_neighbours(NodeCheck& check, const View& got, const Expected& want);

  std::vector<float> got_row, want_row;
  double largest = 0;  // |want| of the node
};

void Verifier::Impl::expect(const PlanStep& step, const KernelArgs& args) {
  const OpDef& op = *args.op;
  if (!op.reference) fail<UnsupportedError>("{} '{}' has no scalar definition", op.name, step.path);
  // Before the kernel runs: it may overwrite its inputs, and so may the definition of an op that
  // writes a state.
  std::vector<View> in(args.in.begin(), args.in.end());
  output.reset();
  state.reset();
  scheduler::Exchange::Values of_ranks;
  if (op.collective) {
    of_ranks = static_cast<scheduler::Exchange*>(args.prepared)->share_values(args);
    in = of_ranks.views;
    if (in.empty()) return;  // nothing is exchanged in this run
  }
  output.emplace(op.storage == Storage::state ? copy_of(in[0]) : Scratch(args.out, args.out.dtype));
  if (op.bound) op.bound(*args.attrs, in, output->bounds.emplace(args.out, f32).view);
  if (op.storage == Storage::state) in[0] = output->values.view;
  if (op.updates >= 0) {
    View& updated = in[static_cast<std::size_t>(op.updates)];
    Scratch& bounds = state.emplace(copy_of(updated)).bounds.emplace(updated, f32);
    if (op.update_bound) op.update_bound(*args.attrs, in, bounds.view);
    updated = state->values.view;
  }
  op.reference(*args.attrs, in, output->values.view);
  expected_node = step.node;
}

void Verifier::Impl::compare_row(NodeCheck& check, const View& got, const Expected& want,
                                 std::int64_t r) {
  decode_row(got, r, got_row);
  decode_row(want.values.view, r, want_row);
  const float* bounds = want.bounds ? want.bounds->view.row<const float>(r) : nullptr;
  for (std::int64_t c = 0; c < got.cols(); ++c) {
    const float g = got_row[static_cast<std::size_t>(c)], w = want_row[static_cast<std::size_t>(c)];
    double error = 0, ratio = 0, bound = 0;
    check.not_numbers += !std::isfinite(g);
    if (std::isfinite(w)) largest = std::max(largest, std::fabs(static_cast<double>(w)));
    if (!std::isfinite(g)) {
      const bool same = std::isnan(w) ? std::isnan(g) : g == w;
      check.non_finite += !same;
      if (same || check.non_finite > 1) continue;
      error = ratio = std::numeric_limits<double>::infinity();
    } else {
      const double ulp = ulp_of(w);
      bound = bounds ? static_cast<double>(bounds[c]) : 4 * ulp;
      error = std::isfinite(w) ? std::fabs(static_cast<double>(g) - w)
                               : std::numeric_limits<double>::infinity();
      ratio = ratio_of(error, bound);
      if (ulp > 0) check.worst_ulps = std::max(check.worst_ulps, error / ulp);
    }
    check.worst_error = std::max(check.worst_error, error);
    if (check.worst_index >= 0 && ratio <= check.worst_ratio) continue;
    check.worst_ratio = ratio;
    check.worst_index = r * got.cols() + c;
    check.got = g;
    check.want = w;
    check.bound = bound;
  }
}

// The values near the worst element.
void Verifier::Impl::collect_neighbours(NodeCheck& check, const View& got, const Expected& want) {
  check.cols = got.cols();
  if (largest > 0) check.worst_relative = check.worst_error / largest;
  if (check.worst_index < 0) return;
  const std::int64_t r = check.worst_index / check.cols, c = check.worst_index % check.cols;
  decode_row(got, r, got_row);
  decode_row(want.values.view, r, want_row);
  check.around_first = std::max<std::int64_t>(c - kAround, 0);
  const std::int64_t end = std::min(c + kAround + 1, check.cols);
  check.around_got.assign(got_row.begin() + check.around_first, got_row.begin() + end);
  check.around_want.assign(want_row.begin() + check.around_first, want_row.begin() + end);
}

void Verifier::Impl::compare(const PlanStep& step, const KernelArgs& args) {
  if (args.op->collective && !output) return;
  if (expected_node != step.node)
    fail<ValueError>("'{}' ended without having begun: verify plans have one lane", step.path);
  NodeCheck check{.node = step.node,
                  .path = step.path,
                  .op = step.op,
                  .kernel = step.kernel,
                  .where = to_string(graph[step.node].where)};
  compare(check, args.out, *output);
  if (!state) return;
  const auto updated = static_cast<std::size_t>(args.op->updates);
  check.path = graph[graph[step.node].inputs[updated]].path;
  compare(check, args.in[updated], *state);
}

void Verifier::Impl::compare(NodeCheck check, const View& got, const Expected& want) {
  largest = 0;
  for (std::int64_t r = 0; r < got.rows(); ++r) compare_row(check, got, want, r);
  collect_neighbours(check, got, want);
  report.nodes.push_back(std::move(check));
}

Verifier::Verifier(const Graph& graph, const Plan& plan)
    : impl_(std::make_unique<Impl>(Impl{.graph = graph})) {
  if (plan.lanes != 1)
    fail<ValueError>("verify needs a plan with one lane, '{}' has {}", plan.name, plan.lanes);
}

Verifier::~Verifier() = default;

void Verifier::before(const PlanStep& step, int, const KernelArgs& args, const Region&) noexcept {
  if (impl_->failure) return;
  try {
    impl_->expect(step, args);
  } catch (...) {
    impl_->failure = std::current_exception();
  }
}

void Verifier::after(const PlanStep& step, int, const KernelArgs& args, const Region&) noexcept {
  if (impl_->failure) return;
  try {
    impl_->compare(step, args);
  } catch (...) {
    impl_->failure = std::current_exception();
  }
}

VerifyReport Verifier::report() const {
  if (impl_->failure) std::rethrow_exception(impl_->failure);
  return impl_->report;
}

}  // namespace weft
