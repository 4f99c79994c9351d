// The time that constrained decoding adds per token: computing the mask and accepting the token,
// over texts that JSON schemas allow. The first text of a schema fills the caches.
//
//   mask_bench VOCAB.gguf FILE.json...
//
// A file holds {"schema": .., "tests": [{"data": .., "valid": true}, ..]}, as those of MaskBench
// (JSONSchemaBench) do.

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/base/error.h"
#include "weft/base/read_file.h"
#include "weft/files/checkpoint.h"
#include "weft/files/vocabulary_file.h"
#include "weft/grammar/token_constraint.h"
#include "weft/tokenize/tokenizer.h"

namespace {

using namespace weft;
using Json = nlohmann::ordered_json;  // members in the order of the file
using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

struct Times {
  std::vector<double> us;

  void print(const char* what) {
    if (us.empty()) return;
    std::sort(us.begin(), us.end());
    double sum = 0;
    for (const double x : us) sum += x;
    const auto at = [&](double share) {
      return us[static_cast<std::size_t>(share * static_cast<double>(us.size() - 1))];
    };
    std::cout << fmt::format(
        "{:<22} {:7} times  mean {:8.1f}  median {:8.1f}  95 % {:8.1f}  99 % {:8.1f}  most {:9.1f} "
        "us\n",
        what, us.size(), sum / static_cast<double>(us.size()), at(0.5), at(0.95), at(0.99),
        us.back());
  }
};

struct Results {
  Times compile, first, later;
  int n_refused = 0, n_cut_off = 0;
};

// Returns false if the constraint does not allow this form of the text.
bool follow(TokenConstraint& constraint, const std::vector<TokenId>& ids, Times& times) {
  constraint.reset();
  for (const TokenId id : ids) {
    const auto start = Clock::now();
    (void)constraint.mask();
    const bool taken = constraint.accept(id);
    times.us.push_back(us_since(start));
    if (!taken) return false;
  }
  return true;
}

void bench(const std::string& path, const std::shared_ptr<const TokenTree>& tree,
           Results& results) {
  const Json about = Json::parse(read_file(path));
  std::shared_ptr<const Grammar> grammar;
  const auto start = Clock::now();
  try {
    grammar = Grammar::from_json_schema(about.at("schema").dump());
  } catch (const Error&) {  // unsupported keywords
    ++results.n_refused;
    return;
  }
  results.compile.us.push_back(us_since(start));
  TokenConstraint constraint(grammar, tree);
  bool first = true;
  for (int round = 0; round < 2; ++round) {
    for (const Json& test : about.at("tests")) {
      if (!test.at("valid").get<bool>()) continue;
      const auto ids = tree->tokenizer().encode(test.at("data").dump(), {.add_special = false});
      if (!follow(constraint, ids, first ? results.first : results.later) && round == 0)
        ++results.n_cut_off;
      first = false;
    }
  }
}

int run(const std::vector<std::string>& arguments) {
  const auto tokenizer = make_tokenizer(read_vocabulary(Checkpoint::open(arguments[0])));
  const auto start = Clock::now();
  const auto tree = std::make_shared<const TokenTree>(*tokenizer);
  std::cout << fmt::format("{} tokens, tree of {} nodes in {:.0f} ms\n", tree->n_tokens(),
                           tree->n_nodes(), us_since(start) / 1e3);
  Results results;
  for (std::size_t i = 1; i < arguments.size(); ++i) bench(arguments[i], tree, results);
  results.compile.print("schemas compiled");
  results.first.print("first text of a schema");
  results.later.print("later texts");
  std::cout << fmt::format("{} schemas refused, {} texts left early\n", results.n_refused,
                           results.n_cut_off);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: mask_bench VOCAB.gguf FILE.json...\n";
    return 2;
  }
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "mask_bench: " << error.what() << '\n';
    return 1;
  }
}
