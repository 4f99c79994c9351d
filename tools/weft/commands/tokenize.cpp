#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/base/read_file.h"
#include "weft/files/checkpoint.h"
#include "weft/files/vocabulary_file.h"
#include "weft/tokenize/tokenizer.h"

#include "common/override_flags.h"
#include "common/terminal_output.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

std::string joined(const std::vector<TokenId>& ids, std::string_view separator) {
  std::string out;
  for (const TokenId id : ids) {
    if (!out.empty()) out += separator;
    out += std::to_string(id);
  }
  return out;
}

std::string as_json(const std::vector<TokenId>& ids) {
  return "[" + joined(ids, ", ") + "]";
}

// A line that is a JSON string.
std::string parse_json_line(const std::string& line, std::size_t number) {
  const auto value = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (value.is_string()) return value.get<std::string>();
  fail<FormatError>("line {}: must be a JSON string, got '{}'", number, printable(line));
}

void tokenize_lines(const Tokenizer& tokenizer, const EncodeOptions& options) {
  std::string line;
  for (std::size_t number = 1; std::getline(std::cin, line); ++number) {
    std::cout << as_json(tokenizer.encode(parse_json_line(line, number), options)) << '\n';
  }
}

int tokenize(int argc, char** argv) {
  cli::App app("Reads text on stdin and prints its token ids.", "weft tokenize");
  std::string model;
  EncodeOptions options;
  bool no_bos = false;
  bool json = false;
  bool jsonl = false;
  std::vector<KeyOverride> overrides;
  app.add_option("-m,--model", model, "directory, or GGUF file (also vocabulary-only)").required();
  app.add_flag("--parse-special", options.parse_special,
               "special tokens spelled out in the text become that token");
  app.add_flag("--no-bos", no_bos, "do not add BOS, EOS or other tokens around the text");
  const cli::Option json_flag = app.add_flag("--json", json, "print a JSON array");
  app.add_flag("--jsonl", jsonl,
               "read one JSON string per line, print one JSON array of ids per line")
      .excludes(json_flag);
  cli::add_override_flag(app, overrides);
  app.footer(
      "Examples:\n"
      "  echo -n 'Once upon a time' | weft tokenize -m model.gguf\n"
      "  echo '\"<|im_start|>user\"' | weft tokenize -m model.gguf --jsonl --parse-special "
      "--no-bos");
  if (const auto code = parse_flags(app, argc, argv)) return *code;

  options.add_special = !no_bos;
  const OpenOptions how{.allow_unknown_settings = true, .rank_files = true};
  const Checkpoint file = Checkpoint::open(model, how).with_keys(overrides);
  const auto tokenizer = make_tokenizer(read_vocabulary(file));
  for (const std::string& warning : tokenizer->warnings())
    std::cerr << "weft tokenize: warning: " << warning << '\n';
  cli::use_own_buffers();
  if (jsonl) {
    tokenize_lines(*tokenizer, options);
    return 0;
  }
  const std::string text = read_stdin(kUnlimitedBytes);
  const std::vector<TokenId> ids = tokenizer->encode(text, options);
  std::cout << (json ? as_json(ids) : joined(ids, " ")) << '\n';
  return 0;
}

}  // namespace

const Subcommand kTokenize{"tokenize", "prints the token ids of a text on stdin", tokenize};

}  // namespace weft::tools
