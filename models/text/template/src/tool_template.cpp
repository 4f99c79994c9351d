// Models with two templates: one for conversations with tools, one for all others.

#include <utility>

#include "weft/template/chat_template.h"

#include "given_json.h"

namespace weft {
namespace {

// Whether the arguments of a render have tools.
bool have_tools(std::string_view arguments) {
  const auto given = chat::parse_given("the text of the arguments", arguments);
  const auto tools = given.is_object() ? given.find("tools") : given.end();
  return tools != given.end() && tools->is_array() && !tools->empty();
}

class TwoTemplates final : public ChatTemplate {
 public:
  TwoTemplates(std::unique_ptr<const ChatTemplate> usual,
               std::unique_ptr<const ChatTemplate> for_tools)
      : usual_(std::move(usual)), for_tools_(std::move(for_tools)) {}

  RenderedChat render(std::span<const ChatMessage> messages,
                      const ChatRenderOptions& options) const override {
    return (options.tools.empty() ? *usual_ : *for_tools_).render(messages, options);
  }
  RenderedChat render_arguments(std::string_view arguments,
                                const ChatRenderOptions& defaults) const override {
    return (have_tools(arguments) ? *for_tools_ : *usual_).render_arguments(arguments, defaults);
  }
  const TemplateAbilities& abilities() const override { return usual_->abilities(); }
  const ChatTemplate& for_tools() const override { return *for_tools_; }
  std::string_view name() const override { return usual_->name(); }
  const std::string& source() const override { return usual_->source(); }

 private:
  std::unique_ptr<const ChatTemplate> usual_, for_tools_;
};

std::unique_ptr<const ChatTemplate> make_tool_template(std::string_view text) {
  constexpr std::string_view kWhich = "the template for tools: ";
  try {
    return make_chat_template(text);
  } catch (const ChatTemplateError& e) {
    throw ChatTemplateError(e.line(), e.column(), fmt::format("{}{}", kWhich, e.message()),
                            e.cause());
  } catch (const FormatError& e) {
    fail<FormatError>("{}{}", kWhich, e.what());
  }
}

}  // namespace

std::unique_ptr<const ChatTemplate> make_chat_template(std::string_view template_text,
                                                       std::string_view tool_template) {
  std::unique_ptr<const ChatTemplate> usual = make_chat_template(template_text);
  if (tool_template.empty()) return usual;
  return std::make_unique<TwoTemplates>(std::move(usual), make_tool_template(tool_template));
}

}  // namespace weft
