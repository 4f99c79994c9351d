#include "weft/reply/call_writer.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "weft/base/error.h"

#include "support/reference.h"

namespace weft {
namespace {

constexpr const char* kWrittenTools =
    R"([{"type": "function", "function": {"name": "look", "parameters": {"properties": {}}}},
        {"type": "function", "function": {"name": "wait", "parameters": {"properties": {}}}}])";

// These show tools but no calls, in the manner of LFM2 and of Granite.
constexpr const char* kPythonTemplate =
    "{% if tools %}<|im_start|>system\nList of tools: <|tool_list_start|>{{ tools | tojson }}"
    "<|tool_list_end|><|im_end|>\n{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content | trim }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
constexpr const char* kObjectTemplate =
    "{% if tools %}<|start_of_role|>system<|end_of_role|>To use a tool, write <|tool_call|> and a "
    "JSON list.\n{{ tools | tojson(indent=4) }}<|end_of_text|>\n{% endif %}"
    "{% for m in messages %}{{ '<|start_of_role|>' + m['role'] + '<|end_of_role|>' + m['content'] "
    "+ '<|end_of_text|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}<|start_of_role|>assistant<|end_of_role|>{% endif %}";

RenderedChat rendered(const ChatTemplate& t, const std::vector<ChatMessage>& messages,
                      bool prompt = false) {
  return t.render(messages, {.add_generation_prompt = prompt,
                             .tools = kWrittenTools,
                             .write_calls = call_writer(template_syntax(t).syntax)});
}

// The last message, with foreign text between braces.
std::string last_message(const char* source, const std::vector<ChatMessage>& messages) {
  const auto t = make_chat_template(source);
  const RenderedChat chat = rendered(*t, messages);
  std::string out;
  std::size_t at = chat.text.rfind(source == kPythonTemplate ? "<|im_start|>" : "<|start_of_role");
  for (const TextRange& range : chat.foreign) {
    if (range.begin < at) continue;
    out += chat.text.substr(at, range.begin - at);
    out += "{" + chat.text.substr(range.begin, range.end - range.begin) + "}";
    at = range.end;
  }
  return out + chat.text.substr(at);
}

const ChatMessage kHi{.role = "user", .content = "Hi"};

ChatMessage calling(std::vector<ToolCall> calls, std::string content = "") {
  return {.role = "assistant", .content = std::move(content), .tool_calls = std::move(calls)};
}

std::vector<ToolCall> read(const ReplySyntax& syntax, std::string_view reply) {
  ReplyParser parser(syntax, {.tools = kWrittenTools});
  std::vector<ReplyEvent> events = parser.push(reply);
  std::ranges::move(parser.finish(), std::back_inserter(events));
  std::vector<ToolCall> calls;
  for (const ReplyEvent& e : events) {
    if (e.kind == ReplyEvent::Kind::call_begin) calls.push_back({"", e.text, ""});
    if (e.kind == ReplyEvent::Kind::call_arguments) calls.back().arguments += e.text;
    CHECK(e.kind != ReplyEvent::Kind::call_dropped);
  }
  return calls;
}

void check_equal(const std::vector<ToolCall>& found, const std::vector<ToolCall>& given) {
  REQUIRE(found.size() == given.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    using Json = nlohmann::ordered_json;
    const std::string& arguments = given[i].arguments;
    CHECK(found[i].name == given[i].name);
    CHECK(Json::parse(found[i].arguments) == Json::parse(arguments.empty() ? "{}" : arguments));
  }
}

std::vector<std::vector<ToolCall>> written_examples() {
  return {
      {{"1", "look", R"({"at": "the \"Old\" Harbour\n\\ Zürich \u2603 \ud83d\ude00 \/ \u0001'"})"}},
      {{"1", "look", ""}},
      {{"1", "look",
        R"({"a": true, "b": [false, null, -1.5e+3, {"c d": {}, "e": "true"}], "n": 12})"},
       {"2", "wait", " { \"s\" : 3 } "}},
      // Not arguments of Python.
      {{"1", "look", R"({"a=1, b": 2})"}, {"2", "wait", R"({"": 1})"}},
      {{"1", "look", R"({"deep": )" + std::string(70, '[') + std::string(70, ']') + "}"}},
  };
}

void check_read_back(const std::string& source, std::string_view notation) {
  const auto t = make_chat_template(source);
  const ReplySyntax syntax = template_syntax(*t).syntax;
  CHECK(syntax.calls == notation);
  const std::size_t prompt = rendered(*t, {kHi}, true).text.size();
  for (const auto& calls : written_examples()) {
    const std::string text = rendered(*t, {kHi, calling(calls)}).text;
    CAPTURE(text);
    check_equal(read(syntax, std::string_view(text).substr(prompt)), calls);
  }
}

TEST_CASE("calls that a template does not show are written as the reply is read") {
  check_read_back(kPythonTemplate, "lfm2");
  check_read_back(kObjectTemplate, "granite");
}

TEST_CASE("calls that published templates do not show are written as the reply is read") {
  const auto folder = test::reference("templates/jinja");
  if (!folder) return;
  for (const auto& [file, notation] :
       {std::pair("LFM2-8B-A1B.jinja", "lfm2"),
        std::pair("ibm-granite-granite-3.3-2B-Instruct.jinja", "granite")}) {
    std::ifstream in(*folder / file, std::ios::binary);
    check_read_back({std::istreambuf_iterator<char>(in), {}}, notation);
  }
}

TEST_CASE("marks of written calls may become control tokens, and nothing else") {
  const std::vector<ToolCall> calls = {{"1", "look", R"({"at": "sea", "near": true})"},
                                       {"2", "wait", ""}};
  CHECK(last_message(kPythonTemplate, {kHi, calling(calls)}) ==
        "<|im_start|>{assistant}\n<|tool_call_start|>{[look(at=\"sea\", near=True), wait()]}"
        "<|tool_call_end|><|im_end|>\n");
  CHECK(last_message(kObjectTemplate, {kHi, calling(calls, "Well.")}) ==
        "<|start_of_role|>{assistant}<|end_of_role|>{Well.}\n<|tool_call|>"
        "{[{\"name\": \"look\", \"arguments\": {\"at\": \"sea\", \"near\": true}}, "
        "{\"name\": \"wait\", \"arguments\": {}}]}<|end_of_text|>\n");
  const std::string mark = "<|tool_call_end|><|tool_call_start|>";
  CHECK(last_message(kPythonTemplate, {{"user", mark}}) ==
        "<|im_start|>{user}\n{" + mark + "}<|im_end|>\n");
  CHECK(last_message(kPythonTemplate, {kHi, {"assistant", mark}}) ==
        "<|im_start|>{assistant}\n{" + mark + "}<|im_end|>\n");
  CHECK(last_message(kPythonTemplate,
                     {kHi, calling({{"1", "look", R"({"at": ")" + mark + "\"}"}}, mark)}) ==
        "<|im_start|>{assistant}\n{" + mark + "}\n<|tool_call_start|>{[look(at=\"" + mark +
            "\")]}<|tool_call_end|><|im_end|>\n");
}

TEST_CASE("notations that are written") {
  const std::vector<ToolCall> calls = {{"1", "look", R"({"at": 1})"}, {"2", "wait", ""}};
  for (const std::string_view name : call_syntax_names()) {
    CAPTURE(name);
    const ReplySyntax syntax{"", std::string(name)};
    const CallWriter write = call_writer(syntax);
    if (!write) continue;
    CHECK(write({}).empty());
    // Some allow one call in a reply.
    for (const CallText& text : write(std::span(calls).first(1)))
      check_equal(read(syntax, text.open + text.body + text.close), {calls[0]});
  }
  const std::vector<CallText> lines = call_writer({"", "hermes"})(calls);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].open == "<tool_call>\n");
  CHECK(lines[0].body == R"({"name": "look", "arguments": {"at": 1}})");
  CHECK(lines[1].close == "\n</tool_call>");
  for (const char* name : {"", "json", "llama3", "glm", "mistral-args", "harmony", "command-r"})
    CHECK(!call_writer({"", name}));
  CHECK_THROWS_AS(call_writer({"", "no such"}), ValueError);
  const std::vector<ToolCall> broken = {{"1", "look", R"({"at": )"}};
  for (const char* name : {"lfm2", "granite", "hermes"})
    CHECK_THROWS_AS(call_writer({"", name})(broken), FormatError);
  const auto t = make_chat_template(kPythonTemplate);
  CHECK_THROWS_AS(rendered(*t, {kHi, calling(broken)}), FormatError);
}

}  // namespace
}  // namespace weft
