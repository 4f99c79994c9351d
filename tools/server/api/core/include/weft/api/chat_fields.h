#pragma once
// Messages and tools of OpenAI's chat completions, which other interfaces resemble.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/api/fields.h"
#include "weft/api/forms.h"
#include "weft/chat/tools.h"
#include "weft/template/chat_template.h"

namespace weft::api {

// A type of parts that hold text, and their member with it, or what reads their text.
struct TextPart {
  std::string type, member = "text";
  std::function<std::string(const Json&, const Path&)> read = {};
};

// A text, or a list of parts {"type": "text", "text": ".."}, joined by line breaks. Images, sound
// and files are refused by name. Parts of type input_text and output_text are texts in all
// interfaces. `more`: further types.
Form<std::string> content_form(std::vector<TextPart> more = {});
Form<ChatMessage> message_form();
Form<std::vector<ChatMessage>> messages_form();

// Arguments of a call in the history, for templates: a JSON text as it is, another text, which a
// model may have generated, as a JSON string, and an empty one as an empty object.
std::string call_arguments(std::string_view text);

// {"type": "function", "function": {"name", "description", "parameters", "strict"}}.
Form<ChatTool> tool_form();
// {"name", "description", "parameters", "strict"}: the function itself.
Form<ChatTool> function_form();

}  // namespace weft::api
