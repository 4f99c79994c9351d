// How fast a tokenizer encodes and decodes a text: the median of several runs after a warm-up run.
//
//   tokenizer_bench VOCAB.gguf TEXT [RUNS]

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/base/read_file.h"
#include "weft/files/checkpoint.h"
#include "weft/files/vocabulary_file.h"
#include "weft/tokenize/tokenizer.h"

namespace {

using namespace weft;

template <class Work>
double median_seconds(int runs, Work work) {
  std::vector<double> seconds;
  for (int run = 0; run <= runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    if (run > 0) seconds.push_back(time.count());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

int bench(const std::string& vocabulary, const std::string& path, int runs) {
  const std::string text = read_file(path);
  const auto opened = std::chrono::steady_clock::now();
  const auto tokenizer = make_tokenizer(read_vocabulary(Checkpoint::open(vocabulary)));
  const std::chrono::duration<double> load = std::chrono::steady_clock::now() - opened;
  std::vector<TokenId> ids;
  std::string back;
  const double encode = median_seconds(runs, [&] { ids = tokenizer->encode(text); });
  const double decode = median_seconds(runs, [&] { back = tokenizer->decode(ids); });
  const double mb = static_cast<double>(text.size()) / 1e6;
  std::cout << fmt::format(
      "{:<12} {:8.2f} MB {:9} tokens  load {:6.0f} ms  encode {:7.1f} MB/s  decode {:7.1f} MB/s\n",
      tokenizer->vocabulary().kind(), mb, ids.size(), load.count() * 1e3, mb / encode, mb / decode);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: tokenizer_bench VOCAB.gguf TEXT [RUNS]\n";
    return 2;
  }
  try {
    return bench(argv[1], argv[2], argc > 3 ? std::max(1, std::atoi(argv[3])) : 5);
  } catch (const std::exception& error) {
    std::cerr << "tokenizer_bench: " << error.what() << '\n';
    return 1;
  }
}
