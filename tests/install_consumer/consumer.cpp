// consumer MODEL: the example in weft/run/session.h.
#include <algorithm>
#include <iostream>
#include <vector>

#include "weft/run/session.h"
#include "weft/tokenize/tokenizer.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto model = weft::Model::load(argv[1]);
  weft::Session session(model, {.context = 64});
  session.feed(0, model->tokenizer().encode("Once upon a time"));
  const auto logits = session.logits();
  std::cout << std::max_element(logits.begin(), logits.end()) - logits.begin() << '\n';
}
