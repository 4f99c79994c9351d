#include "weft/ops/ranks/collectives.h"

#include <algorithm>

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

void expect_group(const GroupAttrs& a) {
  if (a.first < 0 || a.ranks < 1)
    fail<ValueError>("ranks must be at least 1, the first one at least 0; got {} from {} on",
                     a.ranks, a.first);
}

void expect_rows(std::string_view name, const TensorSpec& x) {
  expect_dtype(name, x, f32);
  expect_form(x.shape.n_dims() == 2, name, x, "[T, D]");
}

void expect_cols(std::int64_t cols, const TensorSpec& x) {
  if (cols != x.shape.cols())
    fail<ValueError>("cols must be the width of x, {}, got {}", x.shape.cols(), cols);
}

// Of all_reduce and broadcast.
TensorSpec infer_like(const Attrs& attrs, Specs in) {
  const auto& a = attrs.as<GroupAttrs>();
  expect_group(a);
  expect_rows("x", in[0]);
  expect_cols(a.cols, in[0]);
  return in[0];
}

TensorSpec infer_gather(const Attrs& attrs, Specs in) {
  const auto& a = attrs.as<GroupAttrs>();
  expect_group(a);
  expect_rows("x", in[0]);
  if (a.cols < in[0].shape.cols())
    fail<ValueError>("cols must be at least the width of x, {}, got {}", in[0].shape.cols(),
                     a.cols);
  return {f32, {in[0].shape[0], a.cols}};
}

TensorSpec infer_send(const Attrs& attrs, Specs in) {
  expect_rows("x", in[0]);
  expect_cols(attrs.as<PeerAttrs>().cols, in[0]);
  return {f32, {1}};
}

TensorSpec infer_recv(const Attrs& attrs, Specs in) {
  const auto& a = attrs.as<PeerAttrs>();
  expect_form(in[0].shape.n_dims() >= 1, "rows", in[0], "[T, ..]");
  if (a.cols < 1) fail<ValueError>("cols must be at least 1, got {}", a.cols);
  return {f32, {in[0].shape[0], a.cols}};
}

// Calls f(t, c, values of all ranks in order) for every element.
template <class F>
void for_each_element(Views in, const View& out, F f) {
  for (std::int64_t t = 0; t < out.rows(); ++t)
    for (std::int64_t c = 0; c < out.cols(); ++c)
      f(t, c, [&](std::size_t r) { return in[r].row<const float>(t)[c]; });
}

void add_up(const Attrs&, Views in, View out) {
  for_each_element(in, out, [&](std::int64_t t, std::int64_t c, auto value) {
    float sum = value(0);
    for (std::size_t r = 1; r < in.size(); ++r) sum += value(r);
    out.row<float>(t)[c] = sum;
  });
}

// The order of the sum is part of the definition.
void exact(const Attrs&, Views, View bounds) {
  for (std::int64_t t = 0; t < bounds.rows(); ++t)
    std::fill_n(bounds.row<float>(t), bounds.cols(), 0.0F);
}

void join(const Attrs&, Views in, View out) {
  for (std::int64_t t = 0; t < out.rows(); ++t) {
    float* to = out.row<float>(t);
    for (const View& x : in) to = std::copy_n(x.row<const float>(t), x.cols(), to);
  }
}

void copy_first(const Attrs&, Views in, View out) {
  for (std::int64_t t = 0; t < out.rows(); ++t)
    std::copy_n(in[0].row<const float>(t), out.cols(), out.row<float>(t));
}

void nothing(const Attrs&, Views, View out) {
  *out.row<float>(0) = 0;
}

// What the ranks send each other counts as read and written memory of this one.
Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  return moves(in.first(1), out, extents, 0);
}
Cost cost_of_recv(const Attrs&, Specs, const TensorSpec& out, const Extents& extents) {
  return moves({}, out, extents, 0);
}
Cost cost_of_sum(const Attrs& attrs, Specs in, const TensorSpec& out, const Extents& extents) {
  return moves(in.first(1), out, extents,
               elems_at(out, extents) * (attrs.as<GroupAttrs>().ranks - 1));
}

constexpr OpInput kInputs[] = {{"x", Reach::row}, {"after", Reach::all, true}};
constexpr OpInput kRecvInputs[] = {{"rows", Reach::all}, {"after", Reach::all, true}};

constexpr OpDef collective(std::string_view name, const AttrsType& attrs,
                           decltype(OpDef::infer) infer, decltype(OpDef::reference) reference) {
  return {.name = name,
          .inputs = kInputs,
          .attrs = &attrs,
          .infer = infer,
          .reference = reference,
          .bound = exact,
          .cost = cost,
          .splits_rows = false,
          .collective = true,
          .cuts = {.whole = true}};
}

constexpr OpDef all_reduce() {
  OpDef op = collective("all_reduce", kAttrsType<GroupAttrs>, infer_like, add_up);
  op.cost = cost_of_sum;
  op.in_place_over = 0;
  return op;
}

constexpr OpDef recv() {
  OpDef op = collective("recv", kAttrsType<PeerAttrs>, infer_recv, copy_first);
  op.inputs = kRecvInputs;
  op.cost = cost_of_recv;
  return op;
}

}  // namespace

constinit const OpDef kAllReduce = all_reduce();
constinit const OpDef kAllGather =
    collective("all_gather", kAttrsType<GroupAttrs>, infer_gather, join);
constinit const OpDef kBroadcast =
    collective("broadcast", kAttrsType<GroupAttrs>, infer_like, copy_first);
constinit const OpDef kSend = collective("send", kAttrsType<PeerAttrs>, infer_send, nothing);
constinit const OpDef kRecv = recv();

}  // namespace weft
