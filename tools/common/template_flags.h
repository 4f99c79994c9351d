#pragma once
// Which chat template a program uses.

#include <memory>
#include <string>
#include <vector>

#include "weft/template/chat_template.h"
#include "weft/tokenize/vocabulary.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace weft::cli {

struct TemplateFlags {
  std::string name;    // a plain form by its name; else
  std::string file;    // a template in a file; else the model's
  std::string kwargs;  // a JSON object of variables for it
};
// Returns them, for what depends on them.
std::vector<CLI::Option*> add_template_flags(CLI::App& app, TemplateFlags& flags);

// A template's text from a file, "-" for stdin: with the newline at its end, which templates drop
// themselves. Throws IoError.
std::string read_template(const std::string& path);

// Throws UnsupportedError if there is none at all.
std::unique_ptr<const ChatTemplate> load_template(const TemplateFlags& flags,
                                                  const Vocabulary& vocabulary);

}  // namespace weft::cli
