#include <algorithm>
#include <numeric>
#include <string>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/output_file.h"
#include "weft/run/session.h"

#include "arrays/npy.h"
#include "common/flags.h"
#include "inputs/token_list.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

struct Flags {
  cli::ModelFlags model;
  std::string tokens, split, out, decoder_tokens;
};

// Chunks of the width of steps.
std::vector<std::int32_t> equal_chunks(std::int64_t n_tokens, std::int64_t width) {
  std::vector<std::int32_t> chunks;
  for (std::int64_t done = 0; done < n_tokens; done += width)
    chunks.push_back(static_cast<std::int32_t>(std::min(width, n_tokens - done)));
  return chunks;
}

std::vector<std::int32_t> given_chunks(const Flags& flags, std::int64_t n_tokens) {
  std::vector<std::int32_t> chunks = parse_list("--split", flags.split);
  const std::int64_t sum = std::accumulate(chunks.begin(), chunks.end(), std::int64_t{0});
  if (sum != n_tokens || std::ranges::min(chunks) < 1) {
    fail<ValueError>("--split must be positive numbers that add up to {} tokens, got '{}'",
                     n_tokens, printable(flags.split));
  }
  return chunks;
}

// The tokens whose logits are written. Models with an encoder read --tokens as its text.
std::vector<std::int32_t> fed_tokens(const Flags& flags, const Model& model) {
  const bool given = !flags.decoder_tokens.empty();
  if (model.facts().encodes != given) {
    fail<cli::UsageError>("{}: the model has {} encoder, so --decoder-tokens {}",
                          model.file().path(), given ? "no" : "an",
                          given ? "cannot be used" : "is required");
  }
  return given ? parse_list("--decoder-tokens", flags.decoder_tokens)
               : parse_list("--tokens", flags.tokens);
}

void write_logits(const Flags& flags) {
  const auto model = cli::load_model(flags.model);
  const std::vector<std::int32_t> ids = fed_tokens(flags, *model);
  const std::int64_t n_tokens = std::ssize(ids);
  auto chunks = flags.split.empty() ? equal_chunks(n_tokens, flags.model.session.prefill_width)
                                    : given_chunks(flags, n_tokens);
  std::vector<std::int32_t> text;
  if (model->facts().encodes) text = parse_list("--tokens", flags.tokens);
  SessionOptions options = flags.model.session;
  options.logits_rows = std::ranges::max(chunks);
  options.prefill_width = std::max(options.logits_rows, std::ssize(text));
  Session session(model, options);
  cli::print_concessions(session);
  if (flags.split.empty()) chunks = equal_chunks(n_tokens, session.options().prefill_width);
  if (!text.empty()) session.encode(0, text);
  OutputFile out(flags.out);
  out.write(npy_header(n_tokens, model->facts().n_vocab));
  std::vector<StepToken> tokens;
  for (const std::int32_t id : ids) tokens.push_back({.token = id, .logits = true});
  std::span<const StepToken> rest = tokens;
  for (const std::int32_t n : chunks) {
    out.write(std::as_bytes(session.step(rest.first(static_cast<std::size_t>(n)))));
    rest = rest.subspan(static_cast<std::size_t>(n));
  }
  out.commit();
}

int logits(int argc, char** argv) {
  cli::App app("Writes the logits of every position as float32 [positions, vocabulary].",
               "weft logits");
  Flags flags;
  // These numbers will be compared: no rounding in the cache unless requested.
  flags.model.session.cache_k = flags.model.session.cache_v = f32;
  cli::add_model_flags(app, flags.model);
  app.add_option("--tokens", flags.tokens,
                 "token ids, separated by commas; of a model with an encoder, those that it reads")
      .required();
  app.add_option("--decoder-tokens", flags.decoder_tokens,
                 "token ids for the decoder of a model with an encoder");
  app.add_option("--split", flags.split, "feed the ids (of the decoder) in chunks of these sizes");
  app.add_option("-o,--output", flags.out, ".npy file to write").required();
  app.footer(
      "Examples:\n"
      "  weft logits -m model.gguf --tokens 1,2,3 -o out.npy\n"
      "  weft logits -m model.gguf --tokens 1,2,3,4 --split 3,1 --backend reference -o out.npy\n"
      "  weft logits -m t5.gguf --tokens 13959,1566,1 --decoder-tokens 0,363 -o out.npy");
  if (const auto code = parse_flags(app, argc, argv)) return *code;

  write_logits(flags);
  return 0;
}

}  // namespace

const Subcommand kLogits{"logits", "writes the logits of a list of token ids as a .npy file",
                         logits};

}  // namespace weft::tools
