#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "weft/base/error.h"
#include "weft/files/output_file.h"
#include "weft/run/session.h"
#include "weft/tokenize/tokenizer.h"

#include "common/flags.h"
#include "npy.h"
#include "subcommand.h"
#include "token_list.h"

namespace weft::tools {
namespace {

enum class Pooling { none, mean, first, last };

// Numbers of the key ARCH.pooling_type; 4, the score of a classifier, is not an embedding.
Pooling pooling_of_file(const Model& model) {
  const std::string key = model.facts().architecture + ".pooling_type";
  const std::uint64_t type = model.file().find_uint(key).value_or(0);
  constexpr Pooling kKnown[] = {Pooling::none, Pooling::mean, Pooling::first, Pooling::last};
  if (type >= std::size(kKnown)) {
    fail<UnsupportedError>("{}: key '{}' is {} (known: 0 (none), 1 (mean), 2 (first), 3 (last))",
                           model.file().path(), key, type);
  }
  return kKnown[type];
}

Pooling parse_pooling(const std::string& name, const Model& model) {
  if (name == "none") return Pooling::none;
  if (name == "mean") return Pooling::mean;
  if (name == "cls") return Pooling::first;
  if (name == "last") return Pooling::last;
  return pooling_of_file(model);
}

// Hidden states of all tokens, row by row. Chunks do not change them.
std::vector<float> hidden_states(const std::shared_ptr<const Model>& model, SessionOptions options,
                                 std::span<const std::int32_t> ids) {
  options.embeddings = true;
  options.logits_rows = options.prefill_width =
      std::min(options.prefill_width, static_cast<std::int64_t>(ids.size()));
  Session session(model, options);
  std::vector<float> rows;
  std::vector<StepToken> step;
  for (std::size_t done = 0; done < ids.size(); done += step.size()) {
    const std::size_t n =
        std::min(ids.size() - done, static_cast<std::size_t>(session.options().prefill_width));
    step.clear();
    for (const std::int32_t id : ids.subspan(done, n)) {
      step.push_back({.token = id, .logits = true});
    }
    const std::span<const float> states = session.step(step);
    rows.insert(rows.end(), states.begin(), states.end());
  }
  return rows;
}

std::vector<float> pool(const std::vector<float>& rows, std::size_t width, Pooling pooling) {
  if (pooling == Pooling::none) return rows;
  const auto size = static_cast<std::ptrdiff_t>(width);
  if (pooling == Pooling::first) return {rows.begin(), rows.begin() + size};
  if (pooling == Pooling::last) return {rows.end() - size, rows.end()};
  std::vector<double> sums(width);
  for (std::size_t i = 0; i < rows.size(); ++i) sums[i % width] += rows[i];
  std::vector<float> mean;
  for (const double sum : sums) {
    mean.push_back(static_cast<float>(sum / (static_cast<double>(rows.size()) / width)));
  }
  return mean;
}

int embed(int argc, char** argv) {
  CLI::App app("Writes embeddings, the last hidden states, as float32 [rows, width].",
               "weft embed");
  cli::ModelFlags flags;
  flags.session.cache_k = flags.session.cache_v = f32;
  std::string tokens, prompt, out, pooling = "file";
  cli::add_model_flags(app, flags);
  auto* ids_flag = app.add_option("--tokens", tokens, "token ids, separated by commas");
  app.add_option("-p,--prompt", prompt, "a text instead of token ids")->excludes(ids_flag);
  app.add_option("--pooling", pooling,
                 "file: as the model file says; none: a row per token; mean; cls: the first "
                 "token; last")
      ->check(CLI::IsMember({"file", "none", "mean", "cls", "last"}))
      ->capture_default_str();
  app.add_option("-o,--output", out, ".npy file to write")->required();
  app.footer(
      "Examples:\n"
      "  weft embed -m model.gguf -p 'a red fox' -o fox.npy\n"
      "  weft embed -m model.gguf --tokens 1,2,3 --pooling none -o rows.npy");
  if (const auto code = parse_flags(app, argc, argv)) return *code;

  const auto model = cli::load_model(flags);
  if (model->facts().encodes) {
    fail<UnsupportedError>(
        "{}: embeddings of a model with an encoder and a decoder are not supported; convert the "
        "encoder alone (architecture t5encoder)",
        model->file().path());
  }
  const std::vector<std::int32_t> ids =
      ids_flag->count() > 0 ? parse_list("--tokens", tokens) : model->tokenizer().encode(prompt);
  if (ids.empty()) fail<ValueError>("nothing to embed: pass --tokens or --prompt");
  const auto width = static_cast<std::size_t>(model->facts().n_embd);
  const std::vector<float> rows =
      pool(hidden_states(model, flags.session, ids), width, parse_pooling(pooling, *model));
  OutputFile file(out);
  file.write(npy_header(std::ssize(rows) / model->facts().n_embd, model->facts().n_embd));
  file.write(std::as_bytes(std::span(rows)));
  file.commit();
  return 0;
}

}  // namespace

const Subcommand kEmbed{"embed", "writes embeddings of a text or of token ids as a .npy file",
                        embed};

}  // namespace weft::tools
