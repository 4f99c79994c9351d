#include "weft/graph/layer_path.h"

#include <doctest/doctest.h>

namespace weft {
namespace {

TEST_CASE("a layer path is 'blk.', a number, a dot and a rest") {
  CHECK(parse_layer_path("blk.3.attn_q").layer == 3);
  CHECK(parse_layer_path("blk.3.attn_q").rest == "attn_q");
  CHECK(parse_layer_path("blk.12.").layer == 12);
  CHECK(parse_layer_path("blk.12.").rest.empty());
  CHECK(layer_path(3, "attn_q") == "blk.3.attn_q");
  for (const char* path :
       {"", "output", "blk.", "blk.3", "blk.x.y", "blk.-1.y", "blk..y", "blk.3x.y", "blk.65536.y",
        "blk.70000.y", "blk.99999999999999999999.y", "Blk.3.y"}) {
    CAPTURE(path);
    CHECK(parse_layer_path(path).layer == kNoLayer);
    CHECK(parse_layer_path(path).rest == path);
  }
}

TEST_CASE("a layer may be of a part of the model") {
  const LayerPath encoder = parse_part_path("enc.blk.3.attn_q");
  CHECK(encoder.part == "enc.");
  CHECK(encoder.layer == 3);
  CHECK(encoder.rest == "attn_q");
  CHECK(parse_part_path("blk.3.attn_q").part.empty());
  CHECK(parse_part_path("blk.3.attn_q").layer == 3);
  for (const char* path : {"", "output.weight", "enc.output_norm", "a.enc.blk.3.x"}) {
    CAPTURE(path);
    CHECK(parse_part_path(path).layer == kNoLayer);
    CHECK(parse_part_path(path).rest == path);
  }
}

}  // namespace
}  // namespace weft
