#include "weft/ops/formats/iq4_nl.h"

#include "formats/codec.h"
#include "formats/grids/iq4.h"

namespace weft {

void IQ4_NL::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  formats::decode_sixteen(d, block.q, out);
}

namespace {

using Search = formats::Sixteens<IQ4_NL::kBlock, 1, 1>;

void search(const float* in, const float* importance, IQ4_NL::Block& block) {
  formats::ScaleSearch<Search> search(in, importance);
  formats::ScaleSearch<Search>::Draft draft;
  block.d = search.run(draft);
  formats::pack_sixteen(draft.subs[0].codes, block.q);
}

}  // namespace

void IQ4_NL::encode(const float* in, Block& block) {
  search(in, nullptr, block);
}

void IQ4_NL::encode_weighted(const float* in, const float* importance, Block& block) {
  search(in, importance, block);
}

const Format kIQ4_NLFormat{.dtype = iq4_nl,
                           .decode = formats::decode_row<IQ4_NL>,
                           .encode = formats::encode_row<IQ4_NL>,
                           .encode_weighted = formats::encode_weighted_row<IQ4_NL>};

}  // namespace weft
