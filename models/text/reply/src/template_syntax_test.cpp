#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>

#include "weft/reply/reply_parser.h"

#include "support/reference.h"

namespace weft {
namespace {

constexpr const char* kTaggedTemplate =
    "{% if tools %}{{ tools | tojson }}\n{% endif %}"
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<tool_call>\n<function={{ c.function.name }}>\n"
    "{% for k, v in c.function.arguments.items() %}<parameter={{ k }}>\n{{ v }}\n</parameter>\n"
    "{% endfor %}</function>\n</tool_call>{% endfor %}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|><think>\n{% endif %}";

TEST_CASE("the notation of calls is found by reading back the template's output") {
  const TemplateSyntax tagged = template_syntax(*make_chat_template(kTaggedTemplate));
  CHECK(tagged.syntax.calls == "qwen3-coder");
  CHECK(tagged.syntax.reasoning == "think");
  CHECK(tagged.round_trip);
  // The words of another notation do not mislead.
  const std::string other =
      std::string("{# <minimax:tool_call> <invoke name= #}") + kTaggedTemplate;
  CHECK(template_syntax(*make_chat_template(other)).syntax.calls == "qwen3-coder");
  // Neither tools nor calls: the notation that the adapted prompt asks for.
  const TemplateSyntax plain = template_syntax(*make_named_chat_template("chatml"));
  CHECK(plain.syntax.calls == "json");
  CHECK(!plain.round_trip);
}

TEST_CASE("calls of published templates are read back") {
  const auto folder = test::reference("templates/jinja");
  if (!folder) return;
  // These escape their own quotation marks, or need variables that are not known here.
  const std::vector<std::string> not_equal = {
      "fireworks-ai-llama-3-firefunction-v2",
      "llamacpp2025-fireworks-ai-llama-3-firefunction-v2",
      "mistral-common-v2",
      "mistral-common-v3",
      "mistral-common-v3_image",
      "mistral-common-v3_spm",
      "mistral-common-v7",
      "mistral-common-v7_image",
      "mistral-common-v7_image_spm",
  };
  int n_equal = 0;
  for (const auto& file : std::filesystem::directory_iterator(*folder)) {
    std::ifstream in(file.path(), std::ios::binary);
    const auto t = make_chat_template(std::string{std::istreambuf_iterator<char>(in), {}});
    if (!t->abilities().calls) continue;
    const std::string name = file.path().stem().string();
    const bool expected = std::ranges::find(not_equal, name) == not_equal.end();
    CHECK_MESSAGE(template_syntax(*t).round_trip == expected, name);
    n_equal += expected ? 1 : 0;
  }
  CHECK(n_equal > 40);
}

}  // namespace
}  // namespace weft
