#include "weft/ops/ids/ids_to_floats.h"

#include <algorithm>

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs& attrs, Specs in) {
  const std::int64_t width = attrs.as<IdsToFloatsAttrs>().width;
  expect_dtype("ids", in[0], i32);
  expect_form(in[0].shape.n_dims() == 1, "ids", in[0], "[T]");
  expect_positive("width", static_cast<double>(width));
  return {f32, {in[0].shape[0], width}};
}

void reference(const Attrs&, Views in, View out) {
  const std::int32_t* ids = in[0].row<const std::int32_t>(0);
  for (std::int64_t t = 0; t < out.rows(); ++t)
    std::fill_n(out.row<float>(t), out.cols(), static_cast<float>(ids[t]));
}

constexpr OpInput kInputs[] = {{"ids", Reach::all}};

}  // namespace

const OpDef kIdsToFloats{.name = "ids_to_floats",
                         .inputs = kInputs,
                         .attrs = &kAttrsType<IdsToFloatsAttrs>,
                         .infer = infer,
                         .reference = reference,
                         .bound = exact,
                         .cuts = {.whole = true}};

Tensor ids_to_floats(Tensor ids, std::int64_t width, SourceLine where) {
  return add_node(kIdsToFloats, {ids}, IdsToFloatsAttrs{width}, where);
}

}  // namespace weft
