#pragma once
// Model files of a given shape with random weights, for measuring speed, which does not depend on
// the weights.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/arch/made_source.h"

namespace weft::tools {

// A model that can be written by its name or its letters.
struct MadeShape {
  std::string name;
  std::string note = {};
  std::string_view architecture = "llama";
  // H and G are 0 in models without attention, F in those without an ffn. Named shapes set all of
  // these, because a braced list of some members has the defaults of MadeSizes for the others.
  arch::MadeSizes sizes = {
      .L = 0, .D = 0, .H = 0, .G = 0, .F = 0, .V = 0, .context = 131072, .rope_base = 500000};
  bool tied = false;  // the token embedding serves as output matrix
  // How unequally often experts are chosen: 0 to 100. With 50, half of 128 experts have 90 % of the
  // choices of 8, and the first 4 %, as published for Qwen3-30B-A3B.
  std::int64_t skew = 0;
  // Further keys, without the architecture, and endings of the optional tensors that the model has.
  std::vector<std::pair<std::string, arch::MadeSource::Value>> keys = {};
  std::vector<std::string> optional = {};

  std::int64_t parameters() const;
};

// The named shapes (made_shapes.cpp). Some of them are recurrent (made_shapes_recurrent.cpp).
const std::vector<MadeShape>& named_shapes();
std::vector<MadeShape> recurrent_shapes();

// "1.1b", or free form "D=2048,F=5632,L=22,H=32,G=4,V=32000" with E=.., tied=1 and skew=50 if
// wanted, or both: "qwen3-30b-a3b,L=48,skew=50" is a named shape with other letters.
// Throws ValueError that names the known shapes or the letter that is wrong.
MadeShape parse_shape(std::string_view text);

// The keys and tensors of a model of this shape, with matrices of this type; see make_model().
arch::MadeSource source_of(const MadeShape& shape, std::string_view type);

// A line per known shape.
std::string known_shapes();

// Writes the model (weft/files/made_model.h). `type` is a format's name, or Q4_K_M: Q4_K, and Q6_K
// for the output matrix and, in half of the layers, for attn_v and ffn_down. Matrices of named
// shapes whose rows are not whole blocks are Q5_0 in place of Q4_K, else Q8_0, or F32 if rows are
// not whole blocks of these either. The same arguments give the same bytes. `progress` gets 0..1
// and returns false to stop. Throws ValueError for an unknown type, ShapeError if rows are not
// whole blocks, IoError, CancelledError.
void make_model(const MadeShape& shape, std::string_view type, const std::string& path,
                const std::function<bool(double)>& progress);

}  // namespace weft::tools
