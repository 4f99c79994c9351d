// Models with two templates: one for conversations with tools, one for all others.

#include <utility>

#include "weft/template/chat_template.h"

namespace weft {
namespace {

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
    return usual_->render_arguments(arguments, defaults);
  }
  const TemplateAbilities& abilities() const override { return usual_->abilities(); }
  const ChatTemplate& for_tools() const override { return *for_tools_; }
  std::string_view name() const override { return usual_->name(); }
  const std::string& source() const override { return usual_->source(); }

 private:
  std::unique_ptr<const ChatTemplate> usual_, for_tools_;
};

}  // namespace

std::unique_ptr<const ChatTemplate> make_chat_template(std::string_view template_text,
                                                       std::string_view tool_template) {
  std::unique_ptr<const ChatTemplate> usual = make_chat_template(template_text);
  if (tool_template.empty()) return usual;
  return std::make_unique<TwoTemplates>(std::move(usual), make_chat_template(tool_template));
}

}  // namespace weft
