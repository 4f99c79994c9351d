#include <algorithm>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/base/json_string.h"
#include "weft/files/output_file.h"
#include "weft/serve/embeddings.h"
#include "weft/serve/prompt.h"

#include "arrays/npy.h"
#include "common/flags.h"
#include "inputs/text_list.h"
#include "inputs/token_list.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

struct Flags {
  cli::ModelFlags model;
  TextList texts;
  std::string prompt, tokens, out, pooling = "file";
  std::optional<int> norm;
  bool has_prompt = false, has_tokens = false, truncate = false, json = false;
  std::int32_t per_step = 32;
};

std::vector<TypedTokens> read_texts(const Flags& flags, const Model& model) {
  if (flags.has_tokens) return {TypedTokens(parse_list("--tokens", flags.tokens))};
  std::vector<std::string> texts = flags.texts.all();
  if (flags.has_prompt) texts.insert(texts.begin(), flags.prompt);
  if (texts.empty()) fail<ValueError>("no texts to embed: pass TEXT, -f FILE or --tokens");
  const std::size_t n_arguments = flags.texts.arguments.size() + (flags.has_prompt ? 1 : 0);
  std::vector<TypedTokens> tokens;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].empty()) {
      if (i < n_arguments) fail<ValueError>("text {} of {} is empty", i + 1, texts.size());
      std::cerr << fmt::format("{}: line {} is empty: skipped\n", flags.texts.file,
                               i + 1 - n_arguments);
      continue;
    }
    tokens.push_back(model.tokenizer().encode_typed(texts[i]));
  }
  if (tokens.empty()) fail<ValueError>("no texts to embed: all are empty");
  return tokens;
}

// Steps no wider than all texts together need.
EmbedderOptions options_of(const Flags& flags, const Model& model,
                           std::span<const TypedTokens> texts) {
  EmbedderOptions o{
      .pooling = find_poolings(flags.pooling),  // none for "file"
      .norm = flags.norm.value_or(flags.has_tokens ? kNotNormalized : file_norm(model)),
      .truncate = flags.truncate,
      .texts_per_step = flags.per_step,
      .session = flags.model.session};
  std::int64_t all = 0;
  for (const auto& text : texts) {
    o.max_tokens = std::max(o.max_tokens, std::ssize(text.ids));
    all += std::ssize(text.ids);
  }
  o.session.prefill_width = std::clamp<std::int64_t>(all, 1, o.session.prefill_width);
  o.texts_per_step = std::min(o.texts_per_step, static_cast<std::int32_t>(std::ssize(texts)));
  return o;
}

void write_npy(const std::string& path, std::span<const Embedding> all, std::int64_t width) {
  std::int64_t n = 0;
  for (const Embedding& e : all) n += std::ssize(e.values);
  OutputFile file(path);
  file.write(npy_header(n / width, width));
  for (const Embedding& e : all) file.write(std::as_bytes(std::span(e.values)));
  file.commit();
}

// The rows of an embedding: one, or one per token.
std::vector<std::string> rows_of(const Embedding& e, std::int64_t width, const char* separator) {
  std::vector<std::string> rows;
  const float* const end = e.values.data() + e.values.size();
  for (const float* row = e.values.data(); row < end; row += width)
    rows.push_back(joined(row, row + width, separator));
  return rows;
}

// As in OpenAI's API. With pooling `none` an embedding is a list of rows.
void print_json(const Embedder& embedder, std::span<const Embedding> all) {
  const Model& model = embedder.session().model();
  const std::string& name = model.facts().name.empty() ? model.file().path() : model.facts().name;
  std::cout << fmt::format("{{\"object\": \"list\", \"model\": {}, \"data\": [", json_string(name));
  std::int64_t n_tokens = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::string values;
    for (const std::string& row : rows_of(all[i], embedder.width(), ", "))
      values += fmt::format("{}[{}]", values.empty() ? "" : ", ", row);
    if (embedder.pooling() == Pooling::none) values = fmt::format("[{}]", values);
    std::cout << fmt::format("{}\n{{\"object\": \"embedding\", \"index\": {}, \"embedding\": {}}}",
                             i > 0 ? "," : "", i, values);
    n_tokens += all[i].n_tokens;
  }
  std::cout << fmt::format("],\n\"usage\": {{\"prompt_tokens\": {0}, \"total_tokens\": {0}}}}}\n",
                           n_tokens);
}

void print_rows(const Embedder& embedder, std::span<const Embedding> all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0 && embedder.pooling() == Pooling::none) std::cout << '\n';
    for (const std::string& row : rows_of(all[i], embedder.width(), " ")) std::cout << row << '\n';
  }
}

void add_text_flags(cli::App& app, Flags& flags) {
  flags.texts.add_flags(app, "TEXT", "a text to embed");
  const cli::Option prompt =
      app.add_option("-p,--prompt", flags.prompt, "one more text, before all others");
  const cli::Option tokens = app.add_option(
      "--tokens", flags.tokens, "one text as token ids, separated by commas, instead of texts");
  for (const char* text : {"--prompt", "--file", "TEXT"}) tokens.excludes(app.get_option(text));
  app.add_flag("--truncate", flags.truncate,
               "cut texts that are too long, instead of refusing them");
  app.add_option("--texts-per-step", flags.per_step, "max number of texts computed together")
      .range(1, 8192)
      .capture_default_str()
      .type_name("N");
  app.parse_complete_callback([&flags, prompt, tokens] {
    flags.has_prompt = prompt.given();
    flags.has_tokens = tokens.given();
  });
}

void add_output_flags(cli::App& app, Flags& flags) {
  std::vector<std::string> names = pooling_names();
  names.insert(names.begin(), "file");
  app.add_option("--pooling", flags.pooling,
                 "file: as the model file says, or the mean; " + pooling_help())
      .one_of(names)
      .capture_default_str();
  app.add_option("--normalize", flags.norm,
                 "norm that becomes 1: 2: Euclidean (the default, unless the file says otherwise); "
                 "any p from 1 on: p-norm; 0: the "
                 "largest magnitude becomes 32760; -1: no change (the default with --tokens)")
      .range(-1, 1 << 20)
      .type_name("P");
  const cli::Option json = app.add_flag("--json", flags.json, "print JSON, as in OpenAI's API");
  app.add_option("-o,--output", flags.out,
                 "write a .npy file, float32 [rows, width], instead of printing numbers")
      .excludes(json)
      .type_name("FILE");
}

int run(const Flags& flags) {
  const auto model = cli::load_model(flags.model);
  const std::vector<TypedTokens> texts = read_texts(flags, *model);
  Embedder embedder(model, options_of(flags, *model, texts));
  cli::print_concessions(embedder.session());
  const auto hint = [](std::string_view message) {
    return fmt::format("{}{}", message,
                       message.ends_with(" fit") ? " (--truncate cuts texts)" : "");
  };
  const std::vector<Embedding> all =
      reword_errors<ValueError>(hint, [&] { return embedder.embed(texts, &cli::interrupted()); });
  if (!flags.out.empty())
    write_npy(flags.out, all, embedder.width());
  else if (flags.json)
    print_json(embedder, all);
  else
    print_rows(embedder, all);
  return 0;
}

int embed(int argc, char** argv) {
  cli::App app(
      "Prints embeddings: texts as vectors, one line of numbers per text. Texts are computed\n"
      "together; the numbers of a text do not depend on the others.",
      "weft embed");
  Flags flags;
  flags.model.session.cache_k = flags.model.session.cache_v = f32;
  cli::add_model_flags(app, flags.model);
  add_text_flags(app, flags);
  add_output_flags(app, flags);
  app.footer(
      "Examples:\n"
      "  weft embed -m bge.gguf 'a red fox' 'a blue bird'\n"
      "  weft embed -m bge.gguf --json -f texts.txt > vectors.json\n"
      "  sort -u words.txt | weft embed -m bge.gguf -f - -o words.npy\n"
      "  weft embed -m model.gguf --pooling last --normalize -1 'a red fox'\n"
      "  weft embed -m model.gguf --tokens 1,2,3 --pooling none -o rows.npy");
  if (const auto code = parse_flags(app, argc, argv)) return *code;

  cli::catch_interrupts(cli::Interrupts::once);
  return run(flags);
}

}  // namespace

const Subcommand kEmbed{"embed", "texts as vectors: pooled, normalized, as text, JSON or .npy",
                        embed};

}  // namespace weft::tools
