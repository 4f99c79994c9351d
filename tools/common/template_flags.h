#pragma once
// Flags for the chat template.

#include <memory>
#include <string>
#include <vector>

#include "weft/template/chat_template.h"
#include "weft/tokenize/vocabulary.h"

#include "common/app.h"

namespace weft::cli {

struct TemplateFlags {
  std::string name;    // the name of a built-in template; otherwise:
  std::string file;    // a template in a file; otherwise the model's
  std::string kwargs;  // a JSON object of variables for it
};
// Returns the options, so that callers can add requirements.
std::vector<Option> add_template_flags(App& app, TemplateFlags& flags);

// Reads a template from a file, "-" for stdin, with a newline at its end, which templates drop.
// Throws IoError.
std::string read_template(const std::string& path);

// Throws UnsupportedError if there is no template.
std::unique_ptr<const ChatTemplate> load_template(const TemplateFlags& flags,
                                                  const Vocabulary& vocabulary);

}  // namespace weft::cli
