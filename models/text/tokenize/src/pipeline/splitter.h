#pragma once
// The steps of a pipeline that split a normalized text into pieces.

#include <span>
#include <string_view>
#include <vector>

#include "weft/tokenize/pipeline.h"

#include "split/pre_tokenizer.h"

namespace weft::tokenize {

class Splitter {
 public:
  // Throws UnsupportedError for a rule that does not exist, FormatError for steps that lack what
  // they need.
  explicit Splitter(std::span<const split::Step> steps);

  // Passes the pieces of `text` to `sink`, in order. No piece is empty. `at_start`: the text begins
  // where the whole text that is encoded begins. Throws ValueError if the steps make a text many
  // times longer.
  void split(std::string_view text, bool at_start, PieceSink& sink) const;

 private:
  std::vector<split::Step> steps_;
};

}  // namespace weft::tokenize
