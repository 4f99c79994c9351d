#include "weft/models/chat_template.h"

#include "weft/graph/error.h"

namespace weft {
namespace {

// A form that frames every message in the same way.
struct Form {
  std::string_view name;
  std::string_view marks[2];  // a template that contains both is of this form
  std::string_view before_role;
  std::string_view after_role;
  std::string_view after_content;
  bool trims_content;
  bool begins_with_bos;  // where the template does not tell
};

constexpr Form kForms[] = {
    {.name = "chatml",
     .marks = {"<|im_start|>", "<|im_end|>"},
     .before_role = "<|im_start|>",
     .after_role = "\n",
     .after_content = "<|im_end|>\n",
     .trims_content = false,
     .begins_with_bos = false},
    {.name = "llama3",
     .marks = {"<|start_header_id|>", "<|eot_id|>"},
     .before_role = "<|start_header_id|>",
     .after_role = "<|end_header_id|>\n\n",
     .after_content = "<|eot_id|>",
     .trims_content = true,
     .begins_with_bos = true},
};

std::string_view trim(std::string_view text) {
  constexpr std::string_view kWhite = " \t\n\v\f\r";
  const std::size_t begin = text.find_first_not_of(kWhite);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kWhite) - begin + 1);
}

class FramedTemplate final : public ChatTemplate {
 public:
  FramedTemplate(const Form& form, bool begins_with_bos)
      : form_(form), begins_with_bos_(begins_with_bos) {}

  std::string_view name() const override { return form_.name; }

  RenderedChat render(std::span<const ChatMessage> messages,
                      const ChatRenderOptions& options) const override {
    RenderedChat chat;
    if (begins_with_bos_) chat.text += options.bos;
    for (const ChatMessage& message : messages) {
      if (message.role.empty()) fail<ValueError>("a message has no role");
      open(message.role, chat);
      add_foreign(form_.trims_content ? trim(message.content) : message.content, chat);
      chat.text += form_.after_content;
    }
    if (options.add_generation_prompt) open("assistant", chat);
    return chat;
  }

 private:
  void open(std::string_view role, RenderedChat& chat) const {
    chat.text += form_.before_role;
    add_foreign(role, chat);
    chat.text += form_.after_role;
  }
  static void add_foreign(std::string_view words, RenderedChat& chat) {
    const std::size_t begin = chat.text.size();
    chat.text += words;
    chat.foreign.push_back({begin, chat.text.size()});
  }

  const Form& form_;
  bool begins_with_bos_;
};

std::string known_names() {
  std::string names;
  for (const Form& form : kForms) {
    if (!names.empty()) names += ", ";
    names += form.name;
  }
  return names;
}

}  // namespace

std::unique_ptr<const ChatTemplate> make_chat_template(std::string_view template_text) {
  const auto contains = [&](std::string_view mark) {
    return template_text.find(mark) != std::string_view::npos;
  };
  for (const Form& form : kForms) {
    if (!contains(form.marks[0]) || !contains(form.marks[1])) continue;
    return std::make_unique<FramedTemplate>(
        form, contains("bos_token") || (form.begins_with_bos && contains("<|begin_of_text|>")));
  }
  fail<UnsupportedError>(
      "the model's chat template {}; known forms are {}: choose one with --chat-template NAME",
      template_text.empty() ? "is missing" : "is of no known form", known_names());
}

std::unique_ptr<const ChatTemplate> make_named_chat_template(std::string_view name) {
  for (const Form& form : kForms) {
    if (form.name == name) return std::make_unique<FramedTemplate>(form, form.begins_with_bos);
  }
  fail<ValueError>("there is no chat template '{}'; known are {}", name, known_names());
}

std::vector<std::string_view> chat_template_names() {
  std::vector<std::string_view> names;
  for (const Form& form : kForms) names.push_back(form.name);
  return names;
}

}  // namespace weft
