#include "weft/reply/reply_parser.h"

#include <fstream>
#include <iterator>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "weft/base/error.h"

#include "support/reference.h"

namespace weft {
namespace {

using Kind = ReplyEvent::Kind;

constexpr const char* kParserTools =
    R"([{"type": "function", "function": {"name": "get_weather", "parameters": {"properties":
        {"city": {"type": "string"}, "days": {"type": "integer"}}}}},
       {"type": "function", "function": {"name": "f"}}])";

// Events as one line: "content(..) reasoning(..) get_weather({..})#id dropped(..)".
std::string line(const std::vector<ReplyEvent>& events) {
  std::string out;
  const auto next = [&] { return out.empty() ? "" : " "; };
  Kind last = Kind::call_end;
  for (const ReplyEvent& e : events) {
    const bool more = e.kind == last && (e.kind == Kind::content || e.kind == Kind::reasoning);
    if (more) out.pop_back();
    switch (e.kind) {
      case Kind::content:
        out += more ? e.text + ")" : fmt::format("{}content({})", next(), e.text);
        break;
      case Kind::reasoning:
        out += more ? e.text + ")" : fmt::format("{}reasoning({})", next(), e.text);
        break;
      case Kind::call_begin:
        out += fmt::format("{}{}:{}(", next(), e.call, e.text);
        break;
      case Kind::call_arguments:
        out += e.text;
        break;
      case Kind::call_end:
        out += e.id.empty() ? ")" : fmt::format(")#{}", e.id);
        break;
      case Kind::call_dropped:
        out += "..dropped";
        break;
    }
    last = e.kind;
  }
  return out;
}

std::vector<ReplyEvent> parse(const ReplySyntax& syntax, const std::string& prompt,
                              const std::vector<std::string_view>& pieces) {
  ReplyParser parser(syntax, {.prompt = prompt, .tools = kParserTools});
  std::vector<ReplyEvent> all;
  for (const std::string_view piece : pieces) {
    for (ReplyEvent& e : parser.push(piece)) all.push_back(std::move(e));
  }
  for (ReplyEvent& e : parser.finish()) all.push_back(std::move(e));
  return all;
}

// The line of events, after checking that every way of cutting the text in two, and into single
// bytes, gives the same.
std::string events(const ReplySyntax& syntax, std::string_view text,
                   const std::string& prompt = "") {
  const std::string whole = line(parse(syntax, prompt, {text}));
  std::vector<std::string_view> bytes;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    CHECK(line(parse(syntax, prompt, {text.substr(0, i), text.substr(i)})) == whole);
    if (i < text.size()) bytes.push_back(text.substr(i, 1));
  }
  CHECK(line(parse(syntax, prompt, bytes)) == whole);
  return whole;
}

TEST_CASE("calls in the formats of the model families") {
  struct Case {
    const char *calls, *text, *events;
  };
  const char* const kBoth = R"(0:get_weather({"city": "Paris"}))";
  for (
      const Case& c : std::initializer_list<Case>{
          {"hermes",
           "Let me see.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": "
           "\"Paris\"}}\n</tool_call>",
           R"(content(Let me see.) 0:get_weather({"city": "Paris"}))"},
          {"hermes",
           "<tool_call>{\"arguments\": {\"a\": [1, {\"b\": \"}\"}]}, \"name\": "
           "\"f\"}</tool_call>\n<tool_call>\n"
           "{\"name\": \"f\"}\n</tool_call>",
           R"(0:f({"a": [1, {"b": "}"}]}) 1:f({}))"},
          {"qwen3-coder",
           "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</"
           "parameter>\n<parameter=days>\n3\n"
           "</parameter>\n</function>\n</tool_call>",
           R"(0:get_weather({"city": "Paris", "days": 3}))"},
          {"qwen3-coder",
           "<tool_call>\n<function=get_weather>\n<parameter=city>\n12\n</parameter>\n</function>\n"
           "</tool_call> ok",
           R"(0:get_weather({"city": "12"}) content(ok))"},
          {"llama3", R"({"name": "get_weather", "parameters": {"city": "Paris"}})", kBoth},
          {"llama3", R"(<|python_tag|>{"name": "get_weather", "parameters": {"city": "Paris"}})",
           kBoth},
          {"mistral",
           R"([TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Paris"}, "id": "abc"}, {"name": "f", "arguments": {}}])",
           R"(0:get_weather({"city": "Paris"})#abc 1:f({}))"},
          {"mistral-args",
           R"([TOOL_CALLS]get_weather[ARGS]{"city": "Paris"}[TOOL_CALLS]f[CALL_ID]x1[ARGS]{})",
           R"(0:get_weather({"city": "Paris"}) 1:f({})#x1)"},
          {"deepseek-r1",
           "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```"
           "json\n{\"city\": "
           "\"Paris\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```"
           "json\n{}\n"
           "```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
           R"(0:get_weather({"city": "Paris"}) 1:f({}))"},
          {"deepseek-v3.1",
           "Hm.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{\"city\": "
           "\"Paris\"}"
           "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
           R"(content(Hm.) 0:get_weather({"city": "Paris"}))"},
          {"dsml",
           "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter "
           "name=\"city\" "
           "string=\"true\">12</｜DSML｜parameter>\n<｜DSML｜parameter name=\"days\" "
           "string=\"false\">3"
           "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
           R"(0:get_weather({"city": "12", "days": 3}))"},
          {"functionary-v3.1", R"(<function=get_weather>{"city": "Paris"}</function>)", kBoth},
          {"command-r7b",
           R"(<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Paris"}}]<|END_ACTION|>)",
           R"(0:get_weather({"city": "Paris"})#0)"},
          {"command-r", "Action: ```json\n[{\"tool_name\": \"f\", \"parameters\": {}}]\n```",
           "0:f({})"},
          {"glm",
           "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</"
           "arg_value>\n<arg_key>days</arg_key>\n"
           "<arg_value>3</arg_value>\n</tool_call>",
           R"(0:get_weather({"city": "Paris", "days": 3}))"},
          {"glm", "<tool_call>f</tool_call>", "0:f({})"},
          {"kimi-k2",
           "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_"
           "argument_begin|>"
           "{\"city\": \"Paris\"}<|tool_call_end|><|tool_calls_section_end|>",
           R"(0:get_weather({"city": "Paris"})#functions.get_weather:0)"},
          {"minimax",
           "<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter "
           "name=\"city\">Paris</parameter>\n"
           "</invoke>\n</minimax:tool_call>",
           kBoth},
          {"granite", R"(<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Paris"}}])",
           kBoth},
          {"firefunction", R"( functools[{"name": "f", "arguments": {}}])", "0:f({})"},
          {"json",
           R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}, "id": "1"}]})",
           R"(0:get_weather({"city": "Paris"})#1)"},
          {"json", R"({"type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}})",
           R"(0:f({"a": 1}))"},
          {"harmony",
           "<|channel|>analysis<|message|>Think.<|end|><|start|>assistant<|channel|>commentary "
           "to=functions.get_weather <|constrain|>json<|message|>{\"city\": \"Paris\"}",
           R"(reasoning(Think.) 0:get_weather({"city": "Paris"}))"},
          {"harmony", " to=functions.f<|channel|>commentary json<|message|>{}<|call|>", "0:f({})"},
          {"harmony",
           "<|channel|>analysis<|message|>A<|end|><|start|>assistant<|channel|>final<|message|>B<|"
           "return|>",
           "reasoning(A) content(B)"},
          {"functionary-v3.2", "all\nHello>>>get_weather\n{\"city\": \"Paris\"}\n>>>f\n{}",
           R"(content(Hello) 0:get_weather({"city": "Paris"}) 1:f({}))"},
      }) {
    CAPTURE(c.text);
    const std::string prompt =
        std::string_view(c.calls) == "harmony" ? "<|start|>assistant" : ">>>";
    CHECK(events({"", c.calls}, c.text, prompt) == c.events);
  }
}

TEST_CASE("thoughts") {
  const ReplySyntax think{"think", "hermes"};
  CHECK(events(think, "<think>\nWhy?\n</think>\n\nSo. <think> is a tag") ==
        "reasoning(Why?) content(So. <think> is a tag)");
  CHECK(events(think, "Why?\n</think>\n\nSo.\n", "<|im_start|>assistant\n<think>\n") ==
        "reasoning(Why?) content(So.\n)");
  CHECK(events(think, "So.", "<think>\n\n</think>\n\n") == "content(So.)");
  CHECK(events(think, "<think>never ends </thin") == "reasoning(never ends </thin)");
  CHECK(events(think,
               "<think>a</think><tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>") ==
        "reasoning(a) 0:f({})");
  CHECK(events({"mistral", ""}, "[THINK]é[/THINK]ü") == "reasoning(é) content(ü)");
  CHECK(events({"command-r7b", ""},
               "<|START_THINKING|>t<|END_THINKING|><|START_RESPONSE|>r<|END_RESPONSE|>") ==
        "reasoning(t) content(r)");
  CHECK(events({"", ""}, " a <think> b \n") == "content( a <think> b \n)");
}

TEST_CASE("text that is not a call is content, and none of it is lost") {
  const ReplySyntax hermes{"think", "hermes"};
  for (const std::string_view text :
       {"use <tool_call> tags", "<tool_call>{\"name\": 1}</tool_call>",
        "<tool_call>{\"name\": \"f\"", "<tool_call>[1]</tool_call>", "<tool_call>", "a <tool_",
        "<tool_call>{\"a\": 01}", "<tool_call>{}</tool_call>"})
    CHECK(events(hermes, text) == fmt::format("content({})", text));
  CHECK(events(hermes, "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": tru}}</tool_call>") ==
        "0:f({\"a\": tru..dropped content(<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": "
        "tru}}</tool_call>)");
  CHECK(events(hermes,
               "<tool_call>\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>") ==
        "content(<tool_call>) 0:f({})");
  CHECK(events(hermes, "<tool_call>{\"name\": \"f\", \"arguments\": {}}x") == "0:f({}) content(x)");
  CHECK(events({"", "json"}, R"({"name": "Bob", "age": 3})") ==
        R"(content({"name": "Bob", "age": 3}))");
  CHECK(events({"", "json"}, R"(See {"name": "f", "arguments": {}})") ==
        R"(content(See {"name": "f", "arguments": {}}))");
  CHECK(events({"", "qwen3-coder"}, "<tool_call>\n<function=f>\n<parameter=a>\n1") ==
        "0:f(..dropped content(<tool_call>\n<function=f>\n<parameter=a>\n1)");
  CHECK(events({"", "harmony"}, "<|channel|>commentary to=functions.f<|message|>{\"a\"",
               "<|start|>assistant") ==
        "0:f({\"a\"..dropped content(<|channel|>commentary to=functions.f<|message|>{\"a\")");
  CHECK(events({"", "harmony"}, "plain", "<|start|>assistant") == "content(plain)");
  CHECK(events({"", "functionary-v3.2"}, "no such\n{}", ">>>") == "content(no such\n{})");
}

TEST_CASE("the beginning of a call at the end of a truncated reply is dropped") {
  const auto truncated = [](const ReplySyntax& syntax, std::string_view text,
                            const std::string& prompt = "") {
    ReplyParser parser(syntax, {.prompt = prompt, .tools = kParserTools});
    std::vector<ReplyEvent> all = parser.push(text);
    for (ReplyEvent& e : parser.finish(true)) all.push_back(std::move(e));
    return line(all);
  };
  const ReplySyntax hermes{"think", "hermes"};
  const std::string call = "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>";
  for (const std::string_view cut :
       {"<tool_call>", "<tool_", "<tool_call>\n{\"na", "<tool_call>{\"name\": \"f\""}) {
    CHECK(truncated(hermes, "Hm. " + std::string(cut)) == "content(Hm.)");
    CHECK(truncated(hermes, call + "\n" + std::string(cut)) == "0:f({})");
  }
  CHECK(truncated(hermes, call + "<") == "0:f({})");
  CHECK(truncated(hermes, "a <") == "content(a <)");
  CHECK(truncated(hermes, "use <tool_call> tags") == "content(use <tool_call> tags)");
  CHECK(truncated(hermes, "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\"") ==
        "0:f({\"a\"..dropped");
  // An answer in JSON is not a call before it has the name of a tool.
  CHECK(truncated({"", "json"}, R"({"title": "A fox)") == R"(content({"title": "A fox))");
  CHECK(truncated({"", "json"}, R"({"name": "Bob", "ag)") == R"(content({"name": "Bob", "ag))");
  CHECK(truncated({"", "json"}, R"({"name": "f", "argu)").empty());
  CHECK(truncated({"", "qwen3-coder"}, "<function=map>\n<param") ==
        "content(<function=map>\n<param)");
  CHECK(truncated({"", "harmony"}, "<|channel|>commentary to=functions.f<|message|>{\"a\"",
                  "<|start|>assistant") == "0:f({\"a\"..dropped");
  CHECK(truncated({"", "harmony"}, "<|channel|>commentary to=func", "<|start|>assistant").empty());
  CHECK(truncated({"", "functionary-v3.2"}, "all\nHm.>>>get_wea", ">>>") == "content(Hm.)");
  CHECK(truncated({"", "functionary-v3.2"}, "f\n{\"a\"", ">>>") == "0:f({\"a\"..dropped");
}

TEST_CASE("names without quotes and texts between markers") {
  const ReplySyntax gemma{"gemma4", "gemma4"};
  const std::string begin = "<|tool_call>call:get_weather", end = "<tool_call|>";
  CHECK(events(gemma, begin + R"({city:<|"|>Oslo, {a}<|"|>,days:3})" + end) ==
        R"(0:get_weather({"city": "Oslo, {a}", "days": 3}))");
  CHECK(events(gemma, begin + R"({x:{a:[<|"|>b<|"|>,true,None],"c":"d\"e"},y:word, z : null})") ==
        R"(0:get_weather({"x": {"a": ["b", true, null], "c": "d\"e"}, "y": "word", "z": null}))");
  // The schema decides the type of a value without quotes.
  CHECK(events(gemma, begin + "{city:12,days:3}" + end) ==
        R"(0:get_weather({"city": "12", "days": 3}))");
  CHECK(events(gemma, "Hm. " + begin + "{}" + end + "<|tool_call>call:f{a:1}" + end) ==
        R"(content(Hm.) 0:get_weather({}) 1:f({"a": 1}))");
  CHECK(events(gemma, "<|channel>thought\nHm.<channel|>" + begin + "{}" + end) ==
        "reasoning(Hm.) 0:get_weather({})");
  CHECK(events(gemma, begin + "{city:]}") ==
        "0:get_weather({\"city\": ..dropped content(" + begin + "{city:]})");
}

TEST_CASE("calls in Python's notation, or as JSON") {
  const std::string begin = "<|tool_call_start|>", end = "<|tool_call_end|>";
  CHECK(events({"", "lfm2"}, begin + "[get_weather(city='Oslo', days=3), f()]" + end) ==
        R"(0:get_weather({"city": "Oslo", "days": 3}) 1:f({}))");
  CHECK(events({"", "lfm2"}, begin + R"([{"name": "f", "arguments": {"a": [1]}}])") ==
        R"(0:f({"a": [1]}))");
  CHECK(events({"", "lfm2"}, begin + R"([{"name": "f", "arguments": {}}, oops])" + end) ==
        "0:f({}) content(, oops]" + end + ")");
  CHECK(events({"", "lfm2"}, begin + R"([{"name": "f", "arguments": {}})" + end) ==
        "0:f({}) content(" + end + ")");
  CHECK(events({"", "lfm2"}, begin + R"([{"name": "f", "arguments": {}})") == "0:f({})");
  CHECK(events({"", "lfm2"}, begin + "[f(1)]" + end) == "content(" + begin + "[f(1)]" + end + ")");
}

TEST_CASE("lists between markers") {
  const std::string call = R"({"name": "f", "arguments": {"a": 1}})";
  CHECK(events({"", "apriel"}, "<tool_calls>[" + call + ", " + call + "]</tool_calls>") ==
        R"(0:f({"a": 1}) 1:f({"a": 1}))");
  CHECK(events({"", "nemotron"}, "<TOOLCALL>[" + call + "]</TOOLCALL>") == R"(0:f({"a": 1}))");
  CHECK(events({"", "apertus"}, R"(<|tools_prefix|>[{"f": {"a": 1}}, {"get_weather": {}}])"
                                "<|tools_suffix|>") == R"(0:f({"a": 1}) 1:get_weather({}))");
  CHECK(events({"", "gigachat3.1"}, "Hm.<|function_call|>" + call) ==
        R"(content(Hm.) 0:f({"a": 1}))");
  CHECK(events({"", "gigachat3"}, "Hm.<|message_sep|>\n\nfunction call<|role_sep|>\n" + call) ==
        R"(content(Hm.) 0:f({"a": 1}))");
  CHECK(events({"", "gigachat3"}, "function call<|role_sep|>\n" + call) == R"(0:f({"a": 1}))");
}

TEST_CASE("messages to a tool, to the user and to itself") {
  const std::string call =
      "<atem:function_calls>\n<atem:invoke name=\"get_weather\">\n<atem:parameter name=\"city\">"
      "Oslo</atem:parameter>\n</atem:invoke>\n</atem:function_calls>";
  CHECK(events({"atem", "atem"},
               " to=self<|message|>Hm.<|eom|><|start|>assistant to=get_weather"
               "<|message|>" +
                   call) == R"(reasoning(Hm.) 0:get_weather({"city": "Oslo"}))");
  CHECK(events({"atem", "atem"}, " to=user<|message|>Hello. to=") == "content(Hello. to=)");
}

TEST_CASE("calls with a part missing or too much") {
  const std::string call = "<function=f>\n<parameter=a>\n1\n</parameter>\n</function>";
  for (const char* end : {"", "\n</tool_call>"}) {
    CHECK(events({"", "qwen3-coder"}, "I look.\n" + call + end) ==
          R"(content(I look.) 0:f({"a": 1}))");
  }
  // Only a tool's name makes it a call.
  CHECK(events({"", "qwen3-coder"}, "<function=map>\n<parameter=a>\n") ==
        "content(<function=map>\n<parameter=a>\n)");
  const std::string bare = R"({"name": "f", "parameters": {"a": 1}})";
  for (const char* between : {"; ", "\n", ";\n", ", "}) {
    CHECK(events({"", "llama3"}, bare + between + bare) == R"(0:f({"a": 1}) 1:f({"a": 1}))");
  }
  CHECK(events({"", "llama3"}, bare + "}") == R"(0:f({"a": 1}))");
  CHECK(events({"", "llama3"}, bare + "; that is all") ==
        R"(0:f({"a": 1}) content(; that is all))");
  CHECK(events({"", "hermes"}, "<tool_call>\n" + bare + "}\n</tool_call>") == R"(0:f({"a": 1}))");
}

TEST_CASE("long and hostile replies take linear time") {
  const auto many = [](std::string_view text, int n) {
    std::string all;
    for (int i = 0; i < n; ++i) all += text;
    return all;
  };
  for (const std::string_view calls : call_syntax_names()) {
    for (const std::string& text :
         {many("<tool_call>", 20000), many("<function=a><parameter=b>", 20000), many("[", 100000),
          "<tool_call>" + many("[{\"name\":", 20000), many("{\"a\":", 20000),
          many("<|channel|>", 20000), many(">>>", 20000), "<tool_call>" + many(" ", 200000),
          many("[TOOL_CALLS]f[ARGS]", 20000)}) {
      std::string content;
      for (const ReplyEvent& e : parse({"think", std::string(calls)}, "", {text}))
        if (e.kind == Kind::content) content += e.text;
      CHECK_MESSAGE(content.size() == text.size(), calls, " ", text.substr(0, 30));
    }
  }
}

TEST_CASE("without tools nothing is parsed as a call") {
  ReplyParser parser({"", "hermes"}, {});
  const std::string_view text = "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>";
  CHECK(line(parser.push(text)) == fmt::format("content({})", text));
  CHECK_THROWS_AS(ReplyParser({"", "nope"}, {}), ValueError);
  CHECK_THROWS_AS(ReplyParser({"", "hermes"}, {.tools = "{}"}), FormatError);
  CHECK_THROWS_AS(ReplyParser({"", "hermes"}, {.tools = "[1]"}), FormatError);
}

TEST_CASE("the syntax is recognized from the template") {
  struct Case {
    const char *name, *reasoning, *calls;
  };
  const auto folder = test::reference("templates/jinja");
  if (!folder) return;
  for (const Case& c : std::initializer_list<Case>{
           {"GLM-4.6", "think", "glm"},
           {"NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", "", "hermes"},
           {"meta-llama-Llama-3.1-8B-Instruct", "", "llama3"},
           {"meta-llama-Llama-3.2-3B-Instruct", "", "llama3"},
           {"deepseek-ai-DeepSeek-V3.1", "think", "deepseek-v3.1"},
           {"deepseek-ai-DeepSeek-V3.2", "think", "dsml"},
           {"deepseek-ai-DeepSeek-R1-Distill-Llama-8B", "think", "deepseek-r1"},
           {"CohereForAI-c4ai-command-r7b-12-2024-tool_use", "command-r7b", "command-r7b"},
           {"meetkai-functionary-medium-v3.1", "", "functionary-v3.1"},
           {"Kimi-K2-Thinking", "think", "kimi-k2"},
           {"mistral-common-v7", "", "mistral"},
           {"mistral-common-v13_think", "mistral", "mistral-args"},
           {"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "think", "qwen3-coder"},
           {"ByteDance-Seed-OSS", "seed", "seed"},
           {"ollama-chatml-line01", "", ""},
       }) {
    std::ifstream in(*folder / (std::string(c.name) + ".jinja"), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const ReplySyntax syntax = reply_syntax(text);
    CAPTURE(c.name);
    CHECK(syntax.reasoning == c.reasoning);
    CHECK(syntax.calls == c.calls);
  }
}

}  // namespace
}  // namespace weft
