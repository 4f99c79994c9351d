// Reads arbitrary bytes as requests of the interfaces: the first byte chooses the table, the rest is
// the body. A body must be read or refused with status 400, a message in valid UTF-8 and a path.
// What was read must become a chat.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <nlohmann/json.hpp>

#include "api/anthropic/request.h"
#include "api/errors.h"
#include "api/json.h"
#include "api/native/chat.h"
#include "api/native/prompt.h"
#include "api/native/response_fields.h"
#include "api/ollama/request.h"
#include "api/responses/request.h"

namespace {

using namespace weft::api;

template <class T>
void read_all(const Fields<T>& fields, std::string_view text) {
  const T request = fields.read(parse_body(text));
  if constexpr (requires { chat_input(request); }) {
    if constexpr (!std::is_same_v<T, native::ChatFields>)
      static_cast<void>(chat_input(request));
    else if (request.messages)
      static_cast<void>(chat_input(request));
  } else {
    static_cast<void>(chat_input(request, {}));
  }
}

void read_one(unsigned char which, std::string_view text) {
  static const Form<std::vector<native::Prompt>> prompts = native::prompts();
  switch (which % 8) {
    case 0:
      return read_all(anthropic::fields(), text);
    case 1:
      return read_all(anthropic::chat_fields(), text);
    case 2:
      return read_all(responses::fields(), text);
    case 3:
      return read_all(ollama::chat_fields(), text);
    case 4:
      return read_all(ollama::generate_fields(), text);
    case 5:
      return read_all(native::chat_fields(), text);
    case 6:
      static_cast<void>(read(prompts, parse_json(text), {}));
      return;
    default:
      const std::string paths[] = {"a", "a/b", "/", ""};
      static_cast<void>(native::selected_members(text, paths));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    read_one(data[0], text);
  } catch (const ApiError& error) {
    if (error.status != 400) std::abort();
    static_cast<void>(parse_json(error_body(error, ErrorForm::openai)));
  }
  return 0;
}
