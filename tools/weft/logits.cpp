#include <algorithm>
#include <charconv>
#include <numeric>
#include <string>

#include <CLI/CLI.hpp>

#include "weft/graph/error.h"
#include "weft/models/output_file.h"
#include "weft/models/session.h"

#include "subcommand.h"

namespace weft::tools {
namespace {

struct Flags {
  std::string model, tokens, split, out, cache_k = "f32", cache_v = "f32", mem_budget;
  SessionOptions session;
};

// "1,2,3"
std::vector<std::int32_t> parse_list(std::string_view flag, std::string_view text) {
  std::vector<std::int32_t> values;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const char* end = text.data() + comma;
    std::int32_t value = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, end, value);
    if (error != std::errc() || stop != end) {
      fail<ValueError>("{} must be numbers with commas between them, got '{}'", flag,
                       printable(text));
    }
    values.push_back(value);
    at = comma + 1;
  }
  return values;
}

DType parse_cache_type(const std::string& name) {
  for (const DType type : {f16, f32}) {
    std::string known(type.name());
    std::ranges::transform(known, known.begin(), [](char c) { return std::tolower(c); });
    if (name == known) return type;
  }
  fail<ValueError>("a cache type must be f16 or f32, got '{}'", printable(name));
}

// Chunk sizes: as asked for, or as wide as the session's steps are.
std::vector<std::int32_t> chunks_of(const Flags& flags, std::int64_t n_tokens) {
  if (flags.split.empty()) {
    const std::int64_t width = flags.session.prefill_width;
    std::vector<std::int32_t> chunks;
    for (std::int64_t done = 0; done < n_tokens; done += width) {
      chunks.push_back(static_cast<std::int32_t>(std::min(width, n_tokens - done)));
    }
    return chunks;
  }
  std::vector<std::int32_t> chunks = parse_list("--split", flags.split);
  const std::int64_t sum = std::accumulate(chunks.begin(), chunks.end(), std::int64_t{0});
  if (sum != n_tokens || std::ranges::min(chunks) < 1) {
    fail<ValueError>("--split must be positive numbers that add up to {} tokens, got '{}'",
                     n_tokens, printable(flags.split));
  }
  return chunks;
}

// The header of a .npy file, version 1: magic, length, a dictionary padded to a multiple of 64.
// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
std::string npy_header(std::int64_t rows, std::int64_t cols) {
  std::string text =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, cols);
  constexpr std::size_t kPrefix = 10;
  text.append(63 - (kPrefix + text.size()) % 64, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

void write_logits(const Flags& flags, const std::vector<std::int32_t>& ids) {
  const auto model = Model::load(flags.model);
  const auto chunks = chunks_of(flags, std::ssize(ids));
  SessionOptions options = flags.session;
  options.prefill_width = options.logits_rows = std::ranges::max(chunks);
  Session session(model, options);
  OutputFile out(flags.out);
  out.write(npy_header(std::ssize(ids), model->facts().n_vocab));
  std::vector<StepToken> tokens;
  for (const std::int32_t id : ids) tokens.push_back({.token = id, .logits = true});
  std::span<const StepToken> rest = tokens;
  for (const std::int32_t n : chunks) {
    out.write(std::as_bytes(session.step(rest.first(static_cast<std::size_t>(n)))));
    rest = rest.subspan(static_cast<std::size_t>(n));
  }
  out.commit();
}

}  // namespace

int logits(int argc, char** argv) {
  CLI::App app("Writes the logits of every position as float32 [positions, vocabulary].",
               "weft logits");
  Flags flags;
  SessionOptions& session = flags.session;
  app.add_option("-m,--model", flags.model, "GGUF file")->required();
  app.add_option("--tokens", flags.tokens, "token ids, with commas between them")->required();
  app.add_option("--split", flags.split, "feed the ids in chunks of these sizes");
  app.add_option("-o,--output", flags.out, ".npy file to write")->required();
  app.add_option("-c,--ctx-size", session.context,
                 "positions (default: the model's, at most 4096)");
  app.add_option("-t,--threads", session.workers, "workers (default: 2, or the CPUs there are)");
  app.add_option("--backend", session.backend, "cpu or reference")->capture_default_str();
  app.add_option("--cache-type-k", flags.cache_k, "f16 or f32")->capture_default_str();
  app.add_option("--cache-type-v", flags.cache_v, "f16 or f32")->capture_default_str();
  app.add_option("--mem-budget", flags.mem_budget, "bytes for everything, for example 2G");
  app.add_option("--no-pass", session.passes_off, "leave out this graph pass, or all");
  app.footer(
      "Examples:\n"
      "  weft logits -m model.gguf --tokens 1,2,3 -o out.npy\n"
      "  weft logits -m model.gguf --tokens 1,2,3,4 --split 3,1 --backend reference -o out.npy");
  if (const auto code = parse_flags(app, argc, argv)) return *code;

  session.cache_k = parse_cache_type(flags.cache_k);
  session.cache_v = parse_cache_type(flags.cache_v);
  if (!flags.mem_budget.empty()) session.mem_budget = parse_size(flags.mem_budget);
  write_logits(flags, parse_list("--tokens", flags.tokens));
  return 0;
}

}  // namespace weft::tools
