#include "weft/serve/rerank.h"

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/base/json_string.h"
#include "weft/base/printable.h"

#include "common/flags.h"
#include "inputs/text_list.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

struct Flags {
  cli::ModelFlags model;
  TextList documents;
  std::string query;
  std::size_t top_n = 0;
  bool truncate = false, json = false;
  std::int32_t per_step = 32;
};

struct Pairs {
  std::vector<TypedTokens> tokens;
  std::int64_t longest = 0, all = 0;
};

Pairs encode_pairs(const Flags& flags, const Model& model, std::span<const std::string> documents) {
  if (flags.query.empty()) fail<ValueError>("the query is empty");
  Pairs pairs;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (documents[i].empty())
      fail<ValueError>("document {} of {} is empty", i + 1, documents.size());
    pairs.tokens.push_back(encode_pair(model, flags.query, documents[i]));
    pairs.longest = std::max(pairs.longest, std::ssize(pairs.tokens.back().ids));
    pairs.all += std::ssize(pairs.tokens.back().ids);
  }
  return pairs;
}

Embedder make_embedder(const Flags& flags, const std::shared_ptr<const Model>& model,
                       const Pairs& pairs) {
  EmbedderOptions o{.pooling = Pooling::rank,
                    .truncate = flags.truncate,
                    .max_tokens = pairs.longest,
                    .texts_per_step = flags.per_step,
                    .session = flags.model.session};
  o.session.prefill_width = std::clamp<std::int64_t>(pairs.all, 1, o.session.prefill_width);
  o.texts_per_step = std::min(o.texts_per_step, static_cast<std::int32_t>(pairs.tokens.size()));
  return {model, o};
}

// As in the APIs of Jina and Cohere.
void print_json(const Model& model, std::span<const RankedDocument> ranked, std::int64_t n_tokens) {
  const std::string& name = model.facts().name.empty() ? model.file().path() : model.facts().name;
  std::cout << fmt::format("{{\"object\": \"list\", \"model\": {}, \"results\": [",
                           json_string(name));
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    std::cout << fmt::format("{}\n{{\"index\": {}, \"relevance_score\": {}}}", i > 0 ? "," : "",
                             ranked[i].index, ranked[i].score);
  }
  std::cout << fmt::format("],\n\"usage\": {{\"prompt_tokens\": {0}, \"total_tokens\": {0}}}}}\n",
                           n_tokens);
}

void add_flags(cli::App& app, Flags& flags) {
  flags.model.session.cache_k = flags.model.session.cache_v = f32;
  cli::add_model_flags(app, flags.model);
  app.add_option("-q,--query", flags.query, "question or topic of the search").required();
  flags.documents.add_flags(app, "DOC", "a document");
  app.add_option("--top-n", flags.top_n, "only the N best documents; 0: all").type_name("N");
  app.add_flag("--truncate", flags.truncate,
               "cut documents that are too long, instead of refusing them");
  app.add_option("--texts-per-step", flags.per_step, "max number of documents computed together")
      .range(1, 8192)
      .capture_default_str()
      .type_name("N");
  app.add_flag("--json", flags.json,
               "print JSON, as in the APIs of Jina and Cohere; an index counts from 0");
  app.footer(
      "Examples:\n"
      "  weft rerank -m reranker.gguf -q 'Who eats carrots?' 'Rabbits do.' 'The sky is blue.'\n"
      "  weft rerank -m reranker.gguf -q 'red animals' -f documents.txt --top-n 5\n"
      "  weft rerank -m reranker.gguf -q 'red animals' -f - --json < documents.txt");
}

int rerank(int argc, char** argv) {
  cli::App app(
      "Sorts documents by how well they answer a query, best first. A line has the score, the\n"
      "number of the document, counted from 1, and its text.",
      "weft rerank");
  Flags flags;
  add_flags(app, flags);
  if (const auto code = parse_flags(app, argc, argv)) return *code;

  cli::catch_interrupts(cli::Interrupts::once);
  const std::vector<std::string> documents = flags.documents.all();
  if (documents.empty()) fail<ValueError>("no documents to rank: pass DOC or -f FILE");
  const auto model = cli::load_model(flags.model);
  ranking_output(*model);  // throws if there is none
  Pairs pairs = encode_pairs(flags, *model, documents);
  Embedder embedder = make_embedder(flags, model, pairs);
  cli::print_concessions(embedder.session());
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (flags.truncate && std::ssize(pairs.tokens[i].ids) > embedder.max_tokens())
      pairs.tokens[i] = encode_pair(*model, flags.query, documents[i], embedder.max_tokens());
  }
  const auto hint = [](std::string_view message) {
    return fmt::format("{}{}", message, message.ends_with(" fit") ? " (--truncate cuts it)" : "");
  };
  const std::vector<RankedDocument> ranked = reword_errors<ValueError>(
      hint, [&] { return rerank(embedder, pairs.tokens, flags.top_n, &cli::interrupted()); });
  if (flags.json) {
    std::int64_t n_tokens = 0;
    for (const auto& pair : pairs.tokens) n_tokens += std::ssize(pair.ids);
    print_json(*model, ranked, n_tokens);
    return 0;
  }
  for (const RankedDocument& d : ranked)
    std::cout << fmt::format("{:<12} {:>6}  {}\n", d.score, d.index + 1,
                             printable(documents[d.index]));
  return 0;
}

}  // namespace

const Subcommand kRerank{"rerank", "sorts documents by how well they answer a query", rerank};

}  // namespace weft::tools
