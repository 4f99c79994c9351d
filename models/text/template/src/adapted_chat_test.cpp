#include "adapted_chat.h"

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/template/chat_template.h"

#include "arguments.h"
#include "given_json.h"

namespace weft {
namespace {

// The beginning and the end of messages; `rest` goes between.
std::string framed(std::string_view rest) {
  return fmt::format(
      "{{% for m in messages %}}<{{{{ m.role }}}}>{}</>{{% endfor %}}"
      "{{% if add_generation_prompt %}}<assistant>{{% endif %}}",
      rest);
}
const std::string kPlain = framed("{{ m.content }}");
const std::string kTools =
    "{% if tools %}{% for t in tools %}[{{ t.function.name + ': ' + t.function.description }}]"
    "{% endfor %}{% endif %}";
const std::string kCalls = framed(
    "{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.id }}={{ c.function.name }}"
    "{% for k, v in c.function.arguments.items() %}|{{ k }}:{{ v }}{% endfor %}{% endfor %}"
    "{% if m.tool_call_id %}#{{ m.tool_call_id }}{% endif %}");

std::string render(const std::string& source, const std::vector<ChatMessage>& messages,
                   const ChatRenderOptions& options = {}) {
  return make_chat_template(source)->render(messages, options).text;
}

ChatMessage call(std::string id, std::string arguments, std::string name = "look") {
  return {.role = "assistant",
          .content = "",
          .tool_calls = {{std::move(id), std::move(name), std::move(arguments)}}};
}
ChatMessage result(std::string id, std::string text) {
  return {.role = "tool", .content = std::move(text), .tool_call_id = std::move(id)};
}
const ChatMessage kAsk{.role = "user", .content = "Hi"};

TEST_CASE("abilities of a template") {
  const auto can = [](const std::string& source) {
    return make_chat_template(source)->abilities();
  };
  CHECK(can(kPlain).later_system);
  CHECK(!can(kPlain).tools);
  CHECK(!can(kPlain).calls);
  CHECK(can(kPlain).results);
  CHECK(can(kTools + kCalls).tools);
  CHECK(can(kTools + kCalls).calls);
  CHECK(!can("{% for t in tools %}{{ t.function.name }}{% endfor %}" + kPlain).calls);
  CHECK(!can(kTools + kCalls).short_ids);
  const std::string strict = framed(
                                 "{% for c in m.tool_calls or [] %}{% if c.id | length != 9 %}"
                                 "{{ raise_exception('nine') }}{% endif %}{% endfor %}") +
                             kCalls;
  CHECK(can(strict).short_ids);
  const std::string first = framed(
      "{% if m.role == 'system' and not loop.first %}{{ raise_exception('first') }}{% endif %}"
      "{{ m.content }}");
  CHECK(can(first).system);
  CHECK(!can(first).later_system);
  CHECK(can(framed("{{ m.thinking }}{{ m.content }}")).reasoning_member == "thinking");
  CHECK(can("{% if messages[0].role != 'system' %}<system>I am a model.</>{% endif %}" + kPlain)
            .own_system);
  // Nothing is known of a template that never works.
  CHECK(can("{{ raise_exception('no') }}").tools);
}

TEST_CASE("words beside a call, and several calls of a message, that a template refuses") {
  const std::string no_words = framed(
                                   "{% if m.tool_calls and m.content %}"
                                   "{{ raise_exception('both') }}{% endif %}") +
                               kCalls;
  ChatMessage both = call("1", R"({"a": 1})");
  both.content = "Well.";
  CHECK(!make_chat_template(no_words)->abilities().words_with_calls);
  CHECK(make_chat_template(kCalls)->abilities().words_with_calls);
  CHECK(render(no_words, {kAsk, both, result("1", "4")})
            .ends_with("<assistant>Well.</><assistant>1=look|a:1</><tool>4#1</><assistant>"));
  const std::string first_call = framed(
      "{{ m.content }}{% for c in (m.tool_calls or [])[:1] %}{{ c.id }}="
      "{% for k, v in c.function.arguments.items() %}{{ v }}{% endfor %}{% endfor %}"
      "{% if m.tool_call_id %}#{{ m.tool_call_id }}{% endif %}");
  CHECK(!make_chat_template(first_call)->abilities().many_calls);
  CHECK(make_chat_template(kCalls)->abilities().many_calls);
  both.tool_calls.push_back({"2", "look", R"({"a": 2})"});
  CHECK(render(first_call, {kAsk, both, result("2", "B"), result("x", "?"), result("1", "A")}) ==
        "<user>Hi</><assistant>Well.1=1</><tool>A#1</><assistant>2=2</><tool>B#2</><tool>?#x</>"
        "<assistant>");
}

TEST_CASE("neighbours of one role that a template refuses") {
  const std::string strict = framed(
      "{% if loop.index0 > 0 and messages[loop.index0 - 1].role == m.role %}"
      "{{ raise_exception('alternate') }}{% endif %}{{ m.content }}");
  CHECK(render(strict, {kAsk, {"user", "You?"}, {"assistant", "A"}, {"assistant", "B"}, kAsk}) ==
        "<user>Hi\n\nYou?</><assistant>A\n\nB</><user>Hi</><assistant>");
  CHECK(render(kPlain, {kAsk, kAsk}) == "<user>Hi</><user>Hi</><assistant>");
}

TEST_CASE("tools, calls and results that a template does not show") {
  const std::string tools = R"([{"type": "function", "function": {"name": "look"}}])";
  CHECK(render(kPlain, {{"system", "Brief."}, kAsk}, {.tools = tools}) ==
        "<system>Brief.\n\nYou can call these functions:\n{\"name\":\"look\"}\n"
        "To call one, answer only with JSON: {\"name\": .., \"arguments\": {..}}</>"
        "<user>Hi</><assistant>");
  CHECK(render(kPlain, {kAsk, call("1", R"({"a": 1})"), result("1", "4")}) ==
        "<user>Hi</><assistant>{\"name\": \"look\", \"arguments\": {\"a\": 1}}</>"
        "<tool>4</><assistant>");
  // Results become the user's, one for all that follow each other.
  const std::string strict = framed(
      "{% if m.role == 'tool' or m.role == 'system' %}{{ raise_exception('?') }}{% endif %}"
      "{{ m.content }}");
  CHECK(render(strict, {{"system", "Brief."},
                        kAsk,
                        call("1", ""),
                        call("2", "", "wait"),
                        result("1", "4"),
                        result("2", "5"),
                        {"user", "And?"}}) ==
        "<user>Brief.\n\nHi</><assistant>{\"name\": \"look\", \"arguments\": {}}</>"
        "<assistant>{\"name\": \"wait\", \"arguments\": {}}</>"
        "<user>Result of look:\n4\nResult of wait:\n5\n\nAnd?</><assistant>");
}

TEST_CASE("calls that a template does not show are written by the caller's function") {
  const ChatRenderOptions options{.write_calls = [](std::span<const ToolCall> calls) {
    std::vector<CallText> texts;
    for (const ToolCall& c : calls) texts.push_back({"<<", c.name + c.arguments, ">>"});
    return texts;
  }};
  ChatMessage both = call("1", R"({"a": 1})");
  both.content = "Well.";
  both.tool_calls.push_back({"2", "wait", "{}"});
  const std::vector<ChatMessage> history{kAsk, both, result("1", "4")};
  const RenderedChat chat = make_chat_template(kTools + kPlain)->render(history, options);
  CHECK(chat.text ==
        "<user>Hi</><assistant>Well.\n<<look{\"a\": 1}>>\n<<wait{}>></><tool>4</><assistant>");
  std::vector<std::string> foreign;
  for (const TextRange& range : chat.foreign)
    foreign.push_back(chat.text.substr(range.begin, range.end - range.begin));
  CHECK(foreign == std::vector<std::string>{"user", "Hi", "assistant", "Well.", "look{\"a\": 1}",
                                            "wait{}", "tool", "4"});
  CHECK_THROWS_WITH_AS(render(kTools + kPlain, {kAsk, call("1", "{")}, options),
                       doctest::Contains("a call's argument text (look) is not JSON"), FormatError);
  // Parts that the template shows, or the prompt asks for, stay.
  CHECK(render(kTools + kCalls, history, options).find("<<") == std::string::npos);
  CHECK(render(kPlain, history, options).find("<<") == std::string::npos);
  CHECK(render(kTools + kPlain, history).find("<tool_call>\n{\"name\": \"wait\"") !=
        std::string::npos);
}

TEST_CASE("definitions of tools are completed where a template needs it") {
  const std::string source = kTools + kPlain;
  const auto with = [&](const std::string& function) {
    return render(source, {kAsk},
                  {.tools = R"([{"type": "function", "function": )" + function + "}]"});
  };
  CHECK(with(R"({"name": "look", "description": "d"})").starts_with("[look: d]"));
  CHECK(with(R"({"name": "look"})").starts_with("[look: ]"));
  CHECK(with(R"({"name": "look", "description": null})").starts_with("[look: ]"));
  const std::string deep =
      "{% for t in tools or [] %}{% for k, v in t.function.parameters.properties.items() %}"
      "[{{ k }}: {{ v.type + v.description }}]{% endfor %}{{ t.function.name }};{% endfor %}" +
      kPlain;
  CHECK(render(deep, {kAsk},
               {.tools = R"([{"function": {"name": "look", "parameters": {"properties": {
                   "a": {"anyOf": [{"type": "null"}, {"type": "integer"}]}, "b": {"enum": ["x"]},
                   "c": {"type": ["boolean", "null"]}, "d": {}}}}}])"})
            .starts_with("[a: integer][b: string][c: boolean][d: string]look;"));
  CHECK(render(deep, {kAsk}, {.tools = R"([{"function": {"name": "look"}}])"}) ==
        "look;<user>Hi</><assistant>");
  // A template that goes through the tools without asking whether there are any.
  CHECK(render("{% for t in tools %}{{ t }}{% endfor %}" + kPlain, {kAsk}) ==
        "<user>Hi</><assistant>");
}

TEST_CASE("ids of calls") {
  const std::string source =
      kTools + framed(
                   "{% for c in m.tool_calls or [] %}{% if c.id | length != 9 %}"
                   "{{ raise_exception('nine') }}{% endif %}{{ c.function.arguments }}={{ c.id "
                   "}}{% endfor %}"
                   "{% if m.role == 'tool' %}{{ m.content }}#{{ m.tool_call_id }}{% endif %}");
  CHECK(render(source, {kAsk, call("abcDEF789", "{}"), result("abcDEF789", "4")}) ==
        "<user></><assistant>{}=abcDEF789</><tool>4#abcDEF789</><assistant>");
  const std::string text = render(
      source, {kAsk, call("call_ffffffffffffffff", "{}"), result("call_ffffffffffffffff", "4")});
  const std::string id = text.substr(text.find('=') + 1, 9);
  CHECK(text == "<user></><assistant>{}=" + id + "</><tool>4#" + id + "</><assistant>");
  // Without ids, results answer the calls in their order, or those of their name.
  CHECK(render(kCalls, {kAsk,
                        call("", "{}", "a"),
                        call("", "{}", "b"),
                        {.role = "tool", .content = "B", .name = "b"},
                        {.role = "tool", .content = "A"}}) ==
        "<user>Hi</><assistant>call_0=a</><assistant>call_1=b</><tool>B#call_1</>"
        "<tool>A#call_0</><assistant>");
}

TEST_CASE("given JSON with many members, and with members of one name") {
  const std::string what = "the list";
  CHECK(chat::parse_given(what, R"({"b": 1, "a": {"c": [2, null]}, "b": [3]})").dump() ==
        R"({"b":[3],"a":{"c":[2,null]}})");
  std::string many = "{";
  for (int i = 0; i < 100'000; ++i)
    many += fmt::format(R"({}"{}": null)", i == 0 ? "" : ", ", i % 99'999);
  many += "}";
  const auto parsed = chat::parse_given(what, many);
  CHECK(parsed.size() == 99'999);
  CHECK(parsed.begin().key() == "0");
  CHECK_THROWS_WITH_AS(chat::parse_given(what, "[1,"), doctest::Contains("the list is not JSON: "),
                       FormatError);
  CHECK_THROWS_AS(chat::check_given(what, "{\"a\"}"), FormatError);
  chat::check_given(what, many);
  const std::string tool =
      R"([{"function": {"name": "f", "parameters": null, "x": )" + many + "}}]";
  CHECK(chat::without_nulls(R"([{"function": )" + many + "}]") == R"([{"function":{}}])");
  const std::string kept = chat::without_nulls(tool);
  CHECK(kept.starts_with(R"([{"function":{"name":"f","x":{"0":null,"1":null,)"));
  CHECK(kept.ends_with(R"("99998":null}}}])"));
}

TEST_CASE("a limit ends the rendering, even if there are more forms to try") {
  // With arguments as text it would end at once.
  const auto chat_template = make_chat_template(
      "{% for m in messages %}{% if m.tool_calls and m.tool_calls[0].function.arguments is mapping"
      " %}{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}"
      "{% elif m.tool_calls %}{{ m.tool_calls[0].function.arguments }}{% endif %}{% endfor %}");
  ChatRenderOptions options;
  options.limits.steps = 2'000'000;
  try {
    chat_template->render(std::vector{kAsk, call("1", R"({"city": "Oslo"})")}, options);
    FAIL("rendered");
  } catch (const ChatTemplateError& e) {
    CHECK(e.cause() == ChatTemplateError::Cause::limit);
  }
}

TEST_CASE("truncated arguments") {
  CHECK(render(kCalls, {kAsk, call("1", R"("{\"city\": \"Os")"), result("1", "?")}) ==
        "<user>Hi</><assistant>1=look|city:Os</><tool>?#1</><assistant>");
  CHECK(chat::repaired_arguments(R"({"a": 1, "b": [1, {"c": "x)") ==
        R"({"a": 1, "b": [1, {"c": "x"}]})");
  CHECK(chat::repaired_arguments(R"({"a": 1, "b)") == R"({"a": 1})");
  CHECK(chat::repaired_arguments(R"({"a": 1, "b":)") == R"({"a": 1})");
  CHECK(chat::repaired_arguments(R"({"a": [1, 2, )") == R"({"a": [1, 2]})");
  CHECK(chat::repaired_arguments(R"({"a": tr)") == "{}");
  CHECK(chat::repaired_arguments(R"({"a": "x\u00)") == R"({"a": "x"})");
  CHECK(chat::repaired_arguments(R"({"a": "x\\\)") == R"({"a": "x\\"})");
  CHECK(chat::repaired_arguments(R"({"a": "é\)") == R"({"a": "é"})");
  for (const char* text : {"", "hello", "[1]", "}", "\"", "{\"a\": \"\xc3"})
    CHECK(chat::repaired_arguments(text) == "{}");
  CHECK(chat::repaired_arguments(R"({"a": 1})") == R"({"a": 1})");
}

TEST_CASE("system messages in other places") {
  const std::string first = framed(
      "{% if m.role == 'system' and not loop.first %}{{ raise_exception('first') }}{% endif %}"
      "{{ m.content }}");
  const std::vector<ChatMessage> messages = {
      {"system", "A"}, kAsk, {"assistant", "Yes?"}, {"system", "B"}, {"user", "Bye"}};
  CHECK(render(first, messages) ==
        "<system>A\n\nB</><user>Hi</><assistant>Yes?</><user>Bye</><assistant>");
  CHECK(render(kPlain, messages) ==
        "<system>A</><user>Hi</><assistant>Yes?</><system>B</><user>Bye</><assistant>");
}

TEST_CASE("thoughts under the name that a template reads") {
  const ChatMessage thought{.role = "assistant", .content = "Yes", .reasoning = "Hm."};
  CHECK(render(framed("({{ m.thinking }}){{ m.content }}"), {kAsk, thought, kAsk}) ==
        "<user>()Hi</><assistant>(Hm.)Yes</><user>()Hi</><assistant>");
  // A template that refuses words beside thoughts and a call.
  const std::string strict = framed(
      "{% if m.thinking and m.content and m.tool_calls %}{{ raise_exception('both') }}{% endif %}"
      "({{ m.thinking }}){{ m.content }}{{ m.tool_calls }}");
  ChatMessage all = call("1", "{}");
  all.content = "I look.";
  all.reasoning = "Hm.";
  CHECK(render(strict, {kAsk, all}).find("(Hm.\n\nI look.)[{") != std::string::npos);
}

TEST_CASE("the model continues the last message") {
  const ChatRenderOptions continues{.continue_final_message = true};
  const std::vector<ChatMessage> messages = {kAsk, {"assistant", "The answer is "}};
  CHECK(render(kPlain, messages, continues) == "<user>Hi</><assistant>The answer is ");
  CHECK(render(framed("{{ m.content | trim }}"), messages, continues) ==
        "<user>Hi</><assistant>The answer is");
  CHECK(render(framed("{% if m.role == 'assistant' %}(think)(/think){% endif %}{{ m.content }}"),
               messages, continues) == "<user>Hi</><assistant>(think)(/think)The answer is ");
  // It shows no answers: the text follows the generation prompt.
  CHECK(render("{{ messages[0].content }}{% if add_generation_prompt %}:{% endif %}", messages,
               continues) == "Hi:The answer is ");
  // The last message is the user's.
  CHECK(render(kPlain, {kAsk}, continues) == "<user>Hi</><assistant>");
  // The text after the content is not the message's own.
  const RenderedChat chat = make_chat_template(kPlain)->render(messages, continues);
  REQUIRE(!chat.foreign.empty());
  CHECK(chat.foreign.back().end == chat.text.size());
}

}  // namespace
}  // namespace weft
