#include "includes.h"

#include <nlohmann/json.hpp>

#include "weft/api/query.h"

namespace weft::api::responses {

// Source: https://platform.openai.com/docs/api-reference/responses/create
Form<std::string> include_form() {
  return word({kLogprobs, "reasoning.encrypted_content", "file_search_call.results",
               "web_search_call.results", "web_search_call.action.sources",
               "code_interpreter_call.outputs", "computer_call_output.output.image_url",
               "message.input_image.image_url"});
}

void check_includes(const http::RequestHead& head) {
  static const auto form = include_form();
  const Path body;
  for (const char* name : {"include", "include[]"})
    for (const std::string& value : query_values(head, name))
      read(form, Json(value), body.member("include"));
}

}  // namespace weft::api::responses
