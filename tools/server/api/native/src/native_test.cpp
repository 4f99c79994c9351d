#include "weft/api/json_text.h"
#include "weft/api/mixed_prompt.h"
#include "weft/api/query.h"

#include "completion_writer.h"
#include "file_name.h"
#include "interface_test_support.h"
#include "response_fields.h"

namespace weft::test {
namespace {

using namespace api::native;

std::vector<api::MixedPrompt> read_prompts(std::string_view json) {
  static const auto form = api::mixed_prompts();
  return api::read(form, api::parse_json(json), {});
}

TEST_CASE("native: prompts are texts, ids, both mixed, or lists of these") {
  CHECK(read_prompts(R"("a")") == std::vector<api::MixedPrompt>{{std::string("a")}});
  CHECK(read_prompts("[1, 2]") ==
        std::vector<api::MixedPrompt>{{std::int64_t{1}, std::int64_t{2}}});
  CHECK(read_prompts(R"([1, "a"])") ==
        std::vector<api::MixedPrompt>{{std::int64_t{1}, std::string("a")}});
  CHECK(read_prompts(R"(["a", "b"])") ==
        std::vector<api::MixedPrompt>{{std::string("a")}, {std::string("b")}});
  CHECK(read_prompts(R"([[1], "b", [2, "c"]])").size() == 3);
  std::string ids = "[1";
  for (int i = 0; i < 5000; ++i) ids += ",2";
  CHECK(read_prompts(ids + "]").at(0).size() == 5001);
  for (const char* wrong : {"5", "{}", "[true]", "[]", "[[]]", "[-1]", "[1, [2]]", "[1.5]"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(read_prompts(wrong), api::ApiError);
  }
}

TEST_CASE("native: names of slot files are plain") {
  for (const char* name : {"a.bin", "chat 1", "..a", "\xC3\xA9"}) CHECK(is_plain_file_name(name));
  for (const char* name : {"", ".", "..", "../a", "/a", "a/b", "a\\b", "a\x01", "a\xEF\xBF\xBDx"})
    CHECK_FALSE(is_plain_file_name(name));
  CHECK_FALSE(is_plain_file_name(std::string(201, 'a')));
  CHECK_FALSE(is_plain_file_name(std::string_view("a\0b", 3)));
}

TEST_CASE("native: response_fields select members by their paths") {
  const std::vector<std::string> paths{"content", "timings/prompt_ms", "missing", "content/x"};
  CHECK(selected_members(R"({"content":"a","timings":{"prompt_ms":1.5},"b":2})", paths) ==
        R"({"content":"a","timings/prompt_ms":1.5})");
}

AnswerOptions answer_options(bool stream) {
  return {.stream = stream,
          .tokens = true,
          .prompts = {"p"},
          .settings = "{\"n_predict\":5}",
          .seeds = {7}};
}

TEST_CASE("native: a stream has the text and the tokens of the whole answer") {
  Script script;
  script.events = {content("one "), content("two\n")};
  script.end = {.stop = StopReason::stop_string, .stop_string = "END", .n_tokens = 2};
  Bench bench, streaming;
  CompletionWriter whole(bench.call(), answer_options(false));
  script.play(whole);
  const api::Json answer = bench.answer();
  CHECK(answer["content"] == "one two\n");
  CHECK(answer["tokens"].size() == 2);
  CHECK(answer["stop"] == true);
  CHECK(answer["stop_type"] == "word");
  CHECK(answer["stopping_word"] == "END");
  CHECK(answer["tokens_predicted"] == 2);
  CHECK(answer["tokens_evaluated"] == 20);
  CHECK(answer["tokens_cached"] == 8);
  CHECK(answer["has_new_line"] == true);
  CHECK(answer["truncated"] == false);
  CHECK(answer["id_slot"] == 1);
  CHECK(answer["generation_settings"]["n_predict"] == 5);
  CHECK(answer["generation_settings"]["seed"] == 7);
  CHECK(answer["timings"]["predicted_n"] == 2);

  CompletionWriter stream(streaming.call(), answer_options(true));
  script.play(stream);
  const auto events = streaming.events();
  REQUIRE(events.size() == 3);
  std::string text;
  for (std::size_t i = 0; i < events.size(); ++i) {
    text += events[i].data["content"].get<std::string>();
    CHECK(events[i].data["stop"] == (i == 2));
  }
  CHECK(text == "one two\n");
  CHECK(events[2].data["stop_type"] == "word");
}

TEST_CASE("native: several prompts give a list, response_fields a selection, progress a chunk") {
  Bench bench, streaming;
  AnswerOptions options = answer_options(false);
  options.list = true;
  options.fields = {"index"};
  CompletionWriter writer(bench.call(), options);
  Script script;
  script.events = {content("x")};
  script.play(writer);
  CHECK(api::to_text(bench.answer()) == R"([{"index":0}])");

  AnswerOptions progress = answer_options(true);
  progress.progress = true;
  CompletionWriter reporting(streaming.call(), progress);
  script.play(reporting);
  const api::Json first = streaming.events()[0].data["prompt_progress"];
  CHECK(first["total"] == 20);
  CHECK(first["cache"] == 8);
  CHECK(first["processed"] == 20);
}

TEST_CASE("paths of the body's members need nothing else to live") {
  const api::Path path = api::Path().member("a"), item = path.item(2);
  CHECK(path.text() == "a");
  CHECK(item.member("b").text() == "a[2].b");
  CHECK(api::Path().item(1).text() == "[1]");
}

TEST_CASE("query: values by name, decoded") {
  http::RequestHead head;
  head.query = "action=save&x=%41%2Fb+c&empty&bad=%4&wrong=%4z%&sign=%-1%e2%82%ac&xaction=1";
  CHECK(api::query_value(head, "action") == "save");
  CHECK(api::query_value(head, "x") == "A/b c");
  CHECK(api::query_value(head, "empty").empty());
  CHECK(api::query_value(head, "bad") == "%4");
  CHECK(api::query_value(head, "wrong") == "%4z%");
  CHECK(api::query_value(head, "sign") == "%-1\xe2\x82\xac");
  CHECK(api::query_value(head, "none").empty());
  head.query = "a[]=1&b=2&a%5B%5D=3&a[]";
  CHECK(api::query_values(head, "a[]") == std::vector<std::string>{"1", "3", ""});
}

TEST_CASE("JSON texts: members, numbers that read as the same, texts that are escaped") {
  const std::string text = api::JsonObject()
                               .add("a", "\"\n")
                               .add("b", 1)
                               .add("c", true)
                               .add("d", 0.1F)
                               .add("e", 2.0)
                               .add("f", std::numeric_limits<double>::infinity())
                               .add_or_null("g", "")
                               .add_json("h", api::array_of(std::vector<int>{1, 2}))
                               .str();
  CHECK(text == R"({"a":"\"\n","b":1,"c":true,"d":0.1,"e":2.0,"f":null,"g":null,"h":[1,2]})");
  CHECK(api::JsonObject().str() == "{}");
  CHECK(api::JsonArray().str() == "[]");
}

}  // namespace
}  // namespace weft::test
