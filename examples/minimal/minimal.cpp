// A complete program: loads a model, continues a text, prints it as it is generated.
//
//   minimal MODEL.gguf [PROMPT]
#include <exception>
#include <iostream>

#include "weft/run/model.h"
#include "weft/run/session.h"
#include "weft/serve/generation.h"

int main(int argc, char** argv) try {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: minimal MODEL.gguf [PROMPT]\n";
    return 2;
  }
  const std::string prompt = argc > 2 ? argv[2] : "Once upon a time";
  const auto model = weft::Model::load(argv[1]);
  weft::Session session(model, {.context = 1024});
  weft::Generation generation(session, 0, {.sampler = {.seed = 1, .temperature = 0.4F}});

  generation.begin(prompt);
  std::cout << prompt;
  while (!generation.ended()) std::cout << generation.next().text << std::flush;
  std::cout << '\n';
  return 0;
} catch (const std::exception& error) {
  std::cerr << "minimal: " << error.what() << '\n';
  return 1;
}
