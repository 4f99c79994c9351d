// Renders arbitrary bytes as a chat template, with arguments from after a NUL byte. Rendering must
// stay within its limits and return the same text or error each time; spans marked as foreign must
// lie within the text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "weft/base/error.h"
#include "weft/template/chat_template.h"

namespace {

using namespace weft;

constexpr ChatRenderLimits kSmall{.steps = 100'000, .memory = 8 << 20, .output = 1 << 20};

constexpr std::string_view kArguments =
    R"({"messages": [{"role": "user", "content": "a <b> é"}, {"role": "assistant", "content": null,
    "tool_calls": [{"function": {"name": "f", "arguments": {"x": [1, 2.5, true]}}}]}],
    "tools": [{"function": {"name": "f"}}], "add_generation_prompt": true, "bos_token": "<s>", "n": 7})";

std::string outcome(std::string_view source, std::string_view arguments) {
  try {
    const auto chat_template = make_chat_template(source);
    const RenderedChat chat = chat_template->render_arguments(arguments, {.limits = kSmall});
    std::size_t end = 0;
    for (const TextRange& range : chat.foreign) {
      if (range.begin < end || range.end <= range.begin || range.end > chat.text.size())
        std::abort();
      end = range.end;
    }
    return chat.text;
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t nul = input.find('\0');
  const std::string_view source = input.substr(0, nul);
  const std::string_view arguments =
      nul == std::string_view::npos ? kArguments : input.substr(nul + 1);
  if (outcome(source, arguments) != outcome(source, arguments)) std::abort();
  return 0;
}
