#pragma once
// Vectors with one element for each of the 16 rows of a panel: words, which are four codes or an
// integer, and floats. They take one register with AVX-512, two with AVX2, four with Armv8-A. All
// instruction sets compute the same bits.

#ifdef WEFT_SIXTEEN

namespace weft::cpu {

// A chain of kLength dot products of words: four codes of weights each, with four codes of a token.
// Codes of weights are within 0 .. kMaxCode, or signed and within -kMaxCode .. kMaxCode.
// start(from) precedes the first product; from() is a number of each row to begin with, and 0 if
// `kFrom` is false. The caller adds kAtOnce products to a chain before it turns to another one.
//
// With VNNI, signed codes are passed with an offset of 128 (Sixteen::kRaise).
template <class S, bool kFrom>
struct WordSums {
  static constexpr int kAtOnce = 1;

  typename S::Words sum;

  template <class F>
  WEFT_INLINE void start(F from) {
    sum = from();
  }
  WEFT_INLINE void add(int, typename S::Words w, typename S::Shared x) { sum = S::dot(sum, w, x); }
  template <class F>
  WEFT_INLINE typename S::Words total(F) const {
    return sum;
  }
};

}  // namespace weft::cpu

#endif
