#include "weft/reply/reply_grammar.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/reply/reply_parser.h"

#include "support/vocabulary.h"

namespace weft {
namespace {

using Kind = ReplyEvent::Kind;

const CallableTool kWeather{"get_weather",
                            R"({"type": "object", "properties": {"city": {"type": "string"},
        "days": {"type": "integer", "minimum": 1, "maximum": 7}}, "required": ["city", "days"]})"};
const CallableTool kPing{"ping", ""};

constexpr const char* kGrammarTools =
    R"([{"type": "function", "function": {"name": "get_weather", "parameters": {"properties":
        {"city": {"type": "string"}, "days": {"type": "integer"}}}}},
       {"type": "function", "function": {"name": "ping"}}])";

std::shared_ptr<const Tokenizer> bytes_tokenizer() {
  return make_tokenizer(test::byte_level_builder("gpt-2").build());
}

// "get_weather({..}) ping({})", or the content.
std::string read(const ReplySyntax& syntax, std::string_view text, std::string_view prompt) {
  ReplyParser parser(syntax, {.prompt = std::string(prompt), .tools = kGrammarTools});
  std::vector<ReplyEvent> events = parser.push(text);
  for (ReplyEvent& event : parser.finish()) events.push_back(std::move(event));
  std::string out;
  for (const ReplyEvent& event : events) {
    if (event.kind == Kind::call_begin) out += event.text + "(";
    if (event.kind == Kind::call_arguments) out += event.text;
    if (event.kind == Kind::call_end) out += ") ";
    if (event.kind == Kind::content) out += "content:" + event.text;
    if (event.kind == Kind::reasoning) out += "reasoning:" + event.text + " ";
  }
  return out;
}

struct Notation {
  const char* calls;  // name of the notation of calls
  const char* text;   // one call of get_weather
};
// The texts of models, as docs of their templates show them.
const Notation kNotations[] = {
    {"hermes",
     "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": "
     "3}}\n</tool_call>"},
    {"mistral",
     R"([TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}])"},
    {"mistral-args", R"([TOOL_CALLS]get_weather[ARGS]{"city": "Oslo", "days": 3})"},
    {"llama3", R"({"name": "get_weather", "parameters": {"city": "Oslo", "days": 3}})"},
    {"json", R"({"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}})"},
    {"command-r7b",
     R"(<|START_ACTION|>[{"tool_name": "get_weather", "parameters": {"city": "Oslo", "days": 3}}]<|END_ACTION|>)"},
    {"gemma4", R"(<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>,days:3}<tool_call|>)"},
    {"apertus",
     R"(<|tools_prefix|>[{"get_weather": {"city": "Oslo", "days": 3}}]<|tools_suffix|>)"},
    {"apriel",
     R"(<tool_calls>[{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}]</tool_calls>)"},
    {"lfm2",
     R"(<|tool_call_start|>[{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}]<|tool_call_end|>)"},
    {"gigachat3.1",
     R"(<|function_call|>{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}})"},
    {"atem",
     " to=get_weather<|message|><atem:function_calls>\n<atem:invoke name=\"get_weather\">\n"
     "<atem:parameter name=\"city\">Oslo</atem:parameter>\n<atem:parameter name=\"days\">3"
     "</atem:parameter>\n</atem:invoke>\n</atem:function_calls>"},
    {"functionary-v3.1", R"(<function=get_weather>{"city": "Oslo", "days": 3}</function>)"},
    {"granite",
     R"(<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}])"},
    {"kimi-k2",
     "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_"
     "begin|>{\"city\": \"Oslo\", \"days\": 3}<|tool_call_end|><|tool_calls_section_end|>"},
    {"deepseek-r1",
     "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n"
     "{\"city\": \"Oslo\", \"days\": 3}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
    {"deepseek-v3.1",
     "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{\"city\": \"Oslo\", "
     "\"days\": 3}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
    {"qwen3-coder",
     "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>"
     "\n3\n</parameter>\n</function>\n</tool_call>"},
    {"glm",
     "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n<arg_key>days"
     "</arg_key>\n<arg_value>3</arg_value>\n</tool_call>"},
    {"minimax",
     "<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Oslo"
     "</parameter>\n<parameter name=\"days\">3</parameter>\n</invoke>\n</minimax:tool_call>"},
    {"dsml",
     "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter "
     "name=\"city\" string=\"true\">Oslo</｜DSML｜parameter>\n<｜DSML｜parameter name=\"days\" "
     "string=\"false\">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"},
    {"harmony",
     "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{\"city\": "
     "\"Oslo\", \"days\": 3}"},
    {"functionary-v3.2", "get_weather\n{\"city\": \"Oslo\", \"days\": 3}"},
};

std::string prompt_of(std::string_view calls) {
  return calls == "harmony" ? "<|start|>assistant" : calls == "functionary-v3.2" ? ">>>" : "";
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

TEST_CASE("enforced calls are in the notation of the model, and are read back") {
  const auto tokenizer = bytes_tokenizer();
  for (const Notation& n : kNotations) {
    CAPTURE(std::string(n.calls));
    const ReplySyntax syntax{"", n.calls};
    const auto grammar =
        reply_grammar(syntax, *tokenizer, {.tools = {kWeather, kPing}, .must_call = true});
    CHECK(grammar->accepts(n.text));
    CHECK(replaced(read(syntax, n.text, prompt_of(n.calls)), "\": ", "\":") ==
          replaced("get_weather({\"city\": \"Oslo\", \"days\": 3}) ", "\": ", "\":"));
    CHECK_FALSE(grammar->accepts(replaced(n.text, "3", "8")));
    CHECK_FALSE(grammar->accepts(replaced(n.text, "get_weather", "get_time")));
    CHECK_FALSE(grammar->accepts("Hello"));
    CHECK_FALSE(grammar->accepts(std::string(n.text) + n.text));
  }
}

TEST_CASE("several calls only if they are allowed") {
  const auto tokenizer = bytes_tokenizer();
  const std::string one = "<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>";
  for (const bool several : {false, true}) {
    const auto grammar =
        reply_grammar({"", "hermes"}, *tokenizer,
                      {.tools = {kPing}, .several_calls = several, .must_call = true});
    CHECK(grammar->accepts(one));
    CHECK(grammar->accepts(one + "\n" + one) == several);
  }
}

TEST_CASE("content that keeps to a grammar, or a call") {
  const auto tokenizer = bytes_tokenizer();
  const auto yes = Grammar::from_gbnf(R"(root ::= "yes")");
  const std::string call = "<tool_call>{\"name\": \"ping\", \"arguments\": {}}</tool_call>";
  const ReplySyntax syntax{"think", "hermes"};
  auto grammar = reply_grammar(syntax, *tokenizer, {.tools = {kPing}, .content = yes});
  CHECK(grammar->accepts("yes"));
  CHECK(grammar->accepts(call));
  CHECK_FALSE(grammar->accepts("no"));
  CHECK_FALSE(grammar->accepts("yes" + call));

  // The prompt has opened the reasoning.
  grammar = reply_grammar(syntax, *tokenizer, {.prompt = "assistant\n<think>\n", .content = yes});
  CHECK(grammar->accepts("why?</think>\n\nyes"));
  CHECK_FALSE(grammar->accepts("yes"));
  CHECK_FALSE(grammar->accepts("</think>no"));

  grammar = reply_grammar({"", "harmony"}, *tokenizer, {.content = yes});
  CHECK(grammar->accepts("<|channel|>final<|message|>yes"));
  CHECK(
      grammar->accepts("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>"
                       "final<|message|>yes"));
  CHECK_FALSE(grammar->accepts("yes"));
}

TEST_CASE("free content cannot begin a call that is not one") {
  const auto tokenizer = bytes_tokenizer();
  const std::string call = "<tool_call>{\"name\": \"ping\", \"arguments\": {}}</tool_call>";
  const auto grammar = reply_grammar({"", "hermes"}, *tokenizer, {.tools = {kPing}});
  CHECK(grammar->accepts(""));
  CHECK(grammar->accepts("a < b, <tool"));
  CHECK(grammar->accepts("A moment.\n" + call));
  CHECK_FALSE(grammar->accepts("<tool_call>ping"));
  CHECK_FALSE(grammar->accepts(call + call));
  const auto bare = reply_grammar({"", "json"}, *tokenizer, {.tools = {kPing}});
  CHECK(bare->accepts("Hello {}"));
  CHECK(bare->accepts(R"({"name": "ping", "arguments": {}})"));
  CHECK_FALSE(bare->accepts("{}"));
}

TEST_CASE("parameters that a notation cannot enforce are refused with the tool's name") {
  const auto tokenizer = bytes_tokenizer();
  const auto refusal = [&](const char* calls, std::string parameters) -> std::string {
    try {
      reply_grammar({"", calls}, *tokenizer, {.tools = {{"f", std::move(parameters)}}});
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  const char* format = R"({"type": "object", "properties": {"a": {"type": "string",
                           "format": "date"}}, "required": ["a"]})";
  CHECK(refusal("hermes", format).empty());
  CHECK(refusal("glm", format) == R"(f: "format" of a string cannot be enforced in this notation)");
  CHECK(refusal("glm", R"({"type": "object", "required": ["a"]})").starts_with("f: "));
  CHECK(refusal("hermes", R"({"type": "hiccup"})").starts_with("f: "));
  CHECK_THROWS_AS(reply_grammar({"", "nope"}, *tokenizer, {}), ValueError);
}

}  // namespace
}  // namespace weft
