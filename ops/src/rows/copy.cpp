#include "weft/ops/rows/copy.h"

#include <cstring>

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs& attrs, Specs in) {
  const auto& a = attrs.as<CopyAttrs>();
  if (a.from == a.to)
    fail<ValueError>("from and to must be different memories, got {} twice", to_string(a.from));
  return in[0];
}

void reference(const Attrs&, Views in, View out) {
  const auto bytes = static_cast<std::size_t>(out.dtype.bytes(out.cols()));
  for (std::int64_t r = 0; r < out.rows(); ++r)
    std::memcpy(out.row<std::byte>(r), in[0].row<const std::byte>(r), bytes);
}

std::int64_t granule(const Attrs&, Specs in, const TensorSpec&) {
  return in[0].dtype.block_elems();
}

constexpr OpInput kInputs[] = {{"x"}};

}  // namespace

const OpDef kCopy{.name = "copy",
                  .inputs = kInputs,
                  .attrs = &kAttrsType<CopyAttrs>,
                  .infer = infer,
                  .reference = reference,
                  .bound = exact,
                  .col_granule = granule,
                  .transfers = true,
                  .cuts = {.whole = true}};

}  // namespace weft
