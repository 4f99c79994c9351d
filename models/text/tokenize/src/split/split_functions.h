#pragma once
// Stages of pre-tokenizer rules that no parameters describe: each is the one pattern in its
// comment.

#include "unicode/char_reader.h"

namespace weft::tokenize {

using SplitFunction = Match (*)(const CharReader& text, std::size_t i, RunMemo& memo);

// \d{1,3}(?=(?:\d{3})*\b): groups of three digits from the right, unless a word continues after
// them.
Match split_grouped_decimals(const CharReader& text, std::size_t i, RunMemo& memo);
// The same for every run of \p{N}.
Match split_grouped_numbers(const CharReader& text, std::size_t i, RunMemo& memo);
// Cuts at (?=(\d{3})+(?!\d)).
Match split_before_threes(const CharReader& text, std::size_t i, RunMemo& memo);
// <sentinel:[0-9]+>
Match split_sentinel(const CharReader& text, std::size_t i, RunMemo& memo);
// IMGIMG[A-I]{1,4}Z
Match split_image_token(const CharReader& text, std::size_t i, RunMemo& memo);
// [\t\n]|    |  (four spaces, two spaces)
Match split_indentation(const CharReader& text, std::size_t i, RunMemo& memo);

}  // namespace weft::tokenize
