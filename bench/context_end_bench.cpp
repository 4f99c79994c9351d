// What texts lose that go on at the end of the context: a text that the model wrote with a context
// that holds all of it is read again with a shorter one, in each of the ways to go on. Prints a
// line of JSON for each text and way; bench/context_end.py makes tables of them.
//
//   context_end_bench MODEL CONTEXT LENGTH TEXTS

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/run/session.h"
#include "weft/serve/generation.h"
#include "weft/serve/prompt.h"

namespace weft::bench {
namespace {

constexpr const char* kNames[] = {"Tim", "Ben", "Tom", "Max", "Jack", "Sam", "Bob", "Jim"};

double log_sum(std::span<const float> logits) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float x : logits) sum += std::exp(x - largest);
  return largest + std::log(sum);
}

// What the model expected before each token of a text.
struct Reading {
  std::vector<double> nll;
  std::vector<TokenId> likeliest;
  std::int64_t n_dropped = 0;
};

// Reads the tokens one by one.
Reading read(Session& session, std::span<const TokenId> text, const ContextEndOptions& end) {
  Reading reading;
  std::size_t at = 1;
  const auto choose = [&](std::span<const float> logits, std::span<const TokenId>) {
    const TokenId next = text[at++];
    reading.nll.push_back(log_sum(logits) - double{logits[static_cast<std::size_t>(next)]});
    const auto best = std::ranges::max_element(logits) - logits.begin();
    reading.likeliest.push_back(static_cast<TokenId>(best));
    return next;
  };
  Generation g(session, 0,
               {.choose = choose,
                .max_tokens = std::ssize(text) - 1,
                .ignore_eos = true,
                .context_end = end});
  g.begin(text.first(1));
  while (!g.ended()) g.next();
  reading.n_dropped = n_dropped(g);
  return reading;
}

std::vector<TokenId> written(Session& session, const std::string& begin, std::int64_t length,
                             std::uint64_t seed) {
  SamplerOptions sampler;
  sampler.temperature = 0.8F;
  sampler.seed = seed;
  Generation g(session, 0, {.sampler = sampler, .max_tokens = length, .ignore_eos = true});
  g.begin(begin);
  while (!g.ended()) g.next();
  return {g.tokens().begin(), g.tokens().begin() + length};
}

struct Way {
  std::string name;
  ContextEndOptions end;
};

// The mean loss behind the first `from` tokens, and how often the likeliest one is that of `full`.
void print(std::int64_t text, const Way& way, const Reading& got, const Reading& full,
           std::size_t from) {
  double nll = 0, same = 0;
  const auto n = static_cast<double>(got.nll.size() - from);
  for (std::size_t i = from; i < got.nll.size(); ++i) {
    nll += got.nll[i] / n;
    same += (got.likeliest[i] == full.likeliest[i]) / n;
  }
  fmt::print(R"({{"text":{},"way":"{}","loss":{:.5f},"same":{:.5f},"dropped":{},"needle":{:.5f}}})"
             "\n",
             text, way.name, nll, same, got.n_dropped, std::exp(-got.nll.back()));
}

int run(const std::string& path, std::int64_t context, std::int64_t length, std::int64_t n_texts) {
  const auto model = Model::load(path);
  Session large(model, {.context = length + 64}), small(model, {.context = context});
  const std::vector<Way> ways{
      {"shift", {ContextEnd::shift}},   {"shift, keep 0", {ContextEnd::shift, 0}},
      {"window", {ContextEnd::window}}, {"window, keep 0", {ContextEnd::window, 0}},
      {"evict", {ContextEnd::evict}},   {"evict, 3/4", {ContextEnd::evict, 4, 0, context * 3 / 4}}};
  for (std::int64_t i = 0; i < n_texts; ++i) {
    const std::string name = kNames[static_cast<std::size_t>(i) % std::size(kNames)];
    std::vector<TokenId> text = written(
        large, fmt::format("Once upon a time there was a boy named {}. {} had a dog.", name, name),
        length, static_cast<std::uint64_t>(i + 1));
    const auto question = model->tokenizer().encode(
        fmt::format(" The name of the boy was {}", name), {.add_special = false});
    text.insert(text.end(), question.begin(), question.end());
    const Reading full = read(large, text, {});
    const auto from = static_cast<std::size_t>(context);
    print(i, {"full context", {}}, full, full, from);
    for (const Way& way : ways) print(i, way, read(small, text, way.end), full, from);
  }
  return 0;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  try {
    return weft::bench::run(argv[1], std::atoll(argv[2]), std::atoll(argv[3]), std::atoll(argv[4]));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
