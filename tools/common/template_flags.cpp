#include "common/template_flags.h"

#include <fmt/format.h>

#include "weft/base/error.h"

#include "common/read_text.h"

namespace weft::cli {

std::vector<Option> add_template_flags(App& app, TemplateFlags& flags) {
  const Option name =
      app.add_option("--chat-template", flags.name,
                     fmt::format("how messages become text: {} (default: the model's template)",
                                 fmt::join(chat_template_names(), ", ")))
          .type_name("NAME");
  const Option file = app.add_option("--chat-template-file", flags.file,
                                     "a template in a file, instead of the model's")
                          .type_name("FILE")
                          .excludes(name);
  const Option kwargs =
      app.add_option("--template-kwargs,--chat-template-kwargs", flags.kwargs,
                     "variables for the template, such as '{\"enable_thinking\": false}'")
          .type_name("JSON");
  return {name, file, kwargs};
}

std::string read_template(const std::string& path) {
  std::string text = read_text(path);
  if (!text.empty()) text += '\n';
  return text;
}

std::unique_ptr<const ChatTemplate> load_template(const TemplateFlags& flags,
                                                  const Vocabulary& vocabulary) {
  if (!flags.name.empty()) return make_named_chat_template(flags.name);
  if (!flags.file.empty()) return make_chat_template(read_template(flags.file));
  if (!vocabulary.chat_template().empty())
    return make_chat_template(vocabulary.chat_template(), vocabulary.tool_template());
  fail<UnsupportedError>(
      "the model has no chat template (it may not be made for chats); --chat-template names one: "
      "{}; --chat-template-file reads one",
      fmt::join(chat_template_names(), ", "));
}

}  // namespace weft::cli
