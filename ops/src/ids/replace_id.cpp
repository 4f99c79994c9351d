#include "weft/ops/ids/replace_id.h"

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs&, Specs in) {
  expect_dtype("ids", in[0], i32);
  expect_form(in[0].shape.n_dims() == 1, "ids", in[0], "[T]");
  expect_dtype("otherwise", in[1], i32);
  expect_shape("otherwise", in[1], in[0].shape);
  return in[0];
}

void reference(const Attrs& attrs, Views in, View out) {
  const auto& a = attrs.as<ReplaceIdAttrs>();
  const std::int32_t* ids = in[0].row<const std::int32_t>(0);
  const std::int32_t* otherwise = in[1].row<const std::int32_t>(0);
  std::int32_t* y = out.row<std::int32_t>(0);
  for (std::int64_t t = 0; t < out.cols(); ++t) y[t] = ids[t] == a.from ? a.to : otherwise[t];
}

constexpr OpInput kInputs[] = {{"ids", Reach::all}, {"otherwise", Reach::all}};

}  // namespace

const OpDef kReplaceId{.name = "replace_id",
                       .inputs = kInputs,
                       .attrs = &kAttrsType<ReplaceIdAttrs>,
                       .infer = infer,
                       .reference = reference,
                       .bound = exact,
                       .cuts = {.whole = true}};

Tensor replace_id(Tensor ids, Tensor otherwise, const ReplaceIdAttrs& attrs, SourceLine where) {
  return add_node(kReplaceId, {ids, otherwise}, attrs, where);
}

}  // namespace weft
