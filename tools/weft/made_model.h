#pragma once
// Model files of a given shape with random weights, for measuring speed, which does not depend on
// the weights.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace weft::tools {

// A decoder of architecture `llama`. Letters as in docs/glossary.md.
struct MadeShape {
  std::string name;
  std::int64_t D = 0, F = 0, L = 0, H = 0, G = 0, V = 0;
  std::int64_t E = 0;  // width of a head; default: D / H
  bool tied = false;   // the token embedding serves as output matrix

  std::int64_t parameters() const;
};

// "1.1b", or free form "D=2048,F=5632,L=22,H=32,G=4,V=32000" with E=.. and tied=1 if wanted.
// Throws ValueError that names the known shapes or the letter that is wrong.
MadeShape parse_shape(std::string_view text);

// A line per known shape.
std::string known_shapes();

// Writes the model (weft/files/made_model.h). `type` is a format's name, or Q4_K_M: Q4_K, and Q6_K
// for the output matrix and, in half of the layers, for attn_v and ffn_down. The same arguments
// give the same bytes. `progress` gets 0..1 and returns false to stop. Throws
// ValueError for an unknown type, ShapeError if rows are not whole blocks, IoError, CancelledError.
void make_model(const MadeShape& shape, std::string_view type, const std::string& path,
                const std::function<bool(double)>& progress);

}  // namespace weft::tools
