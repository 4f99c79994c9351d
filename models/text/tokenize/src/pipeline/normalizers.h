#pragma once
// The steps of a pipeline that change a text before it is split. Bytes that are not UTF-8 stay as
// they are.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/tokenize/pipeline.h"

#include "unicode/charsmap.h"

namespace weft::tokenize {

class Normalizers {
 public:
  // Throws FormatError for a charsmap that is not one, and for patterns that are not known.
  explicit Normalizers(std::span<const normalize::Step> steps);

  // `at_start`: whether the first character of the text is the first one that was given; false
  // afterwards if it was removed. Throws ValueError if the text grows to more than
  // 64 times its size.
  void apply(std::string& text, bool& at_start) const;
  bool empty() const { return steps_.empty(); }

 private:
  std::vector<normalize::Step> steps_;
  std::vector<Charsmap> charsmaps_;  // by step; empty for most
};

}  // namespace weft::tokenize
