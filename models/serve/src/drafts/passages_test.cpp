#include "drafts/passages.h"

#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/tokenize/vocabulary.h"

namespace weft::serve {
namespace {

using Ids = std::vector<TokenId>;

Ids counted(TokenId first, std::size_t n) {
  Ids ids(n);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

}  // namespace

TEST_CASE("passages end before the token that followed them") {
  Passages passages(2);
  for (const TokenId id : {1, 2, 3, 1, 2}) passages.add(id);
  const Ids text{7, 1, 2};
  CHECK(passages.longest(text).end == 2);  // nothing follows the later one
  CHECK(passages.longest(text).length == 2);
  passages.add(kNoToken);
  CHECK(passages.longest(text).end == 2);
  CHECK(passages.longest(Ids{2}).length == 0);
  CHECK(passages.longest(Ids{}).length == 0);
  CHECK(passages.longest(Ids{3, 2}).length == 0);
  passages.clear();
  CHECK(passages.longest(text).length == 0);
}

TEST_CASE("a text that begins with all of the last one replaces it") {
  KeptTexts texts(2);
  texts.add(Ids{1, 2, 3});
  texts.add(Ids{1, 2, 3, 4, 5});
  CHECK(texts.passages().tokens().size() == 5);
  texts.add(Ids{9, 8});
  CHECK(texts.passages().tokens().size() == 8);
  texts.add(Ids{9, 8});
  CHECK(texts.passages().tokens().size() == 8);
  texts.add(Ids{});
  CHECK(texts.passages().longest(Ids{0, 2, 3}).length == 2);
  CHECK(texts.passages().longest(Ids{0, 3, kNoToken}).length == 0);
}

TEST_CASE("too many tokens of ended texts are forgotten") {
  KeptTexts texts(2);
  texts.add(counted(0, 40000));
  texts.add(counted(100000, 20000));
  CHECK(texts.passages().longest(Ids{5, 6}).length == 2);
  texts.add(counted(200000, 20000));
  CHECK(texts.passages().longest(Ids{5, 6}).length == 0);
  CHECK(texts.passages().longest(Ids{200005, 200006}).length == 2);
  texts.add(counted(0, 100000));
  CHECK(texts.passages().tokens().size() == 65536);
  CHECK(texts.passages().longest(Ids{99990, 99991}).length == 2);
  CHECK(texts.passages().longest(Ids{200005, 200006}).length == 0);
}

TEST_CASE("the kept texts of an owner are its own") {
  OwnedTexts texts(2);
  const std::vector<TokenId> text{1, 2, 3, 4}, beginning{1, 2};
  texts.of("a")->add(text);
  CHECK(texts.of("a")->passages().longest(beginning).length == 2);
  CHECK(texts.of("b")->passages().longest(beginning).length == 0);
  for (int i = 0; i < 100; ++i) texts.of(std::to_string(i));  // memory is bounded
  CHECK(texts.of("a")->passages().tokens().empty());
}

}  // namespace weft::serve
