// Texts that functions know, and some that are wrong.
#include <algorithm>
#include <array>
#include <string_view>

#include "c_api/world.h"

namespace weft_fuzz {
namespace {

std::vector<std::string> ops() {
  std::vector<std::string> names{"", "no_such_op", "fuzz_op", "\xff"};
  weft_text json{};
  require(weft_ops_json(&json, nullptr) == WEFT_SUCCESS, "no ops");
  const std::string_view all(json.data, json.size);
  constexpr std::string_view kBefore = R"("name":")", kAfter = R"(","inputs":)";
  for (std::size_t end = 0; (end = all.find(kAfter, end)) != all.npos; ++end) {
    const std::size_t begin = all.rfind(kBefore, end) + kBefore.size();
    names.emplace_back(all.substr(begin, end - begin));
  }
  weft_text_free(&json);
  return names;
}

using List = std::vector<std::string>;

List texts() {
  return {"",
          "Once upon a time",
          "\n",
          "a",
          "The cat sat",
          "\xff\xfe",
          "a\xc3",
          "<|endoftext|>",
          "{\"a\": 1}",
          std::string(200, 'x'),
          "\xe2\x96\x81the",
          " ",
          "yes",
          "."};
}

List grammars() {
  return {"root ::= \"a\"+",
          "root ::= [a-z ]* \".\"",
          "root ::= root",
          "root ::= (\"a\"*)*",
          "root ::= x\nx ::= \"\\xff\" | <[5]> | .",
          "root ::= \"a\"{2,3} (\"b\" | root)?",
          "root ::= \"a\"{1000000000}",
          "root ::= <|endoftext|>",
          "root ::= !<[5]>",
          "root ::= \"",
          "{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"integer\"}}}",
          "{\"$ref\": \"#\"}",
          "{\"type\": \"string\", \"minLength\": 1000000000}",
          "{\"enum\": [1, \"a\", null]}",
          "[\"yes\", \"no\"]",
          "[\"\"]",
          "[\"\\ud800\"]",
          "[]",
          "(a|b)*c",
          "(((((",
          "a{1,4294967296}",
          "\xff",
          "",
          "{"};
}

List chats() {
  return {"chatml",
          "",
          "llama3",
          "{{ messages[0].content }}{% if add_generation_prompt %}A:{% endif %}",
          "{% for m in messages %}{{ m.role }}{{ m.content }}{% endfor %}",
          "{{ raise_exception('no') }}",
          "{% for x in range(1000000000) %}a{% endfor %}",
          "{{ x.y.z }}{{",
          "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
          "[{\"role\": \"user\", \"content\": \"Hi\"}]",
          "[{\"role\": \"system\", \"content\": \"S\"}, {\"role\": \"user\", \"content\": "
          "\"\\u00e9\"}, "
          "{\"role\": \"assistant\", \"content\": \"A\"}]",
          "[{\"role\": \"assistant\", \"tool_calls\": [{\"id\": \"1\", \"type\": \"function\", "
          "\"function\": {\"name\": \"f\", \"arguments\": \"{}\"}}]}, {\"role\": \"tool\", "
          "\"tool_call_id\": \"1\", \"content\": \"r\"}]",
          "[{\"role\": 1}]",
          "[]",
          "[[[[",
          "[{\"type\": \"function\", \"function\": {\"name\": \"f\", \"parameters\": {\"type\": "
          "\"object\", \"properties\": {\"a\": {\"type\": \"string\"}}}}}]",
          "auto",
          "required",
          "none",
          "f",
          "{\"enable_thinking\": true}",
          "<think>a</think>b",
          "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"b\"}}</tool_call>",
          "<tool_call>{\"name\": ",
          "\xff"};
}

// Words between spaces.
List split(std::string_view text) {
  List parts;
  for (std::size_t end = 0; end < text.size(); text.remove_prefix(std::min(end + 1, text.size()))) {
    end = std::min(text.find(' '), text.size());
    parts.emplace_back(text.substr(0, end));
  }
  return parts;
}

List names() {
  List all = split(
      "x y w \xff blk.0 token_embd output_norm D E H V L eps attention_scale no_such fuzz_arch "
      "llama "
      "bert scan causal_conv token_shift axis dim n scale embedding_length block_count "
      "llama.block_count llama.block_count=int:1 general.name=str:a a=int:x blk.*=reference "
      "*=cpu,a=\xff all fuse_qkv mean rank none cls+max top_k;temperature temperature;; "
      "^blk=Q8_0\nx=F16 attn_q ffn_down");
  all.insert(all.end(), {"", std::string(300, 'n')});
  return all;
}

std::array<List, static_cast<std::size_t>(Words::count)> all_words() {
  const List dtypes{"F32", "I32",  "F16", "BF16",      "Q8_0",     "Q4_K", "Q4_K_M", "f32",
                    "",    "\xff", "cpu", "reference", "cpu:sse2", "crew", "flow",   "skeleton"};
  const List paths{"stories.gguf", "tiny.gguf", "made.gguf", "saved",
                   "saved.json",   "out.gguf",  ".",         "",
                   "no/such",      "folder",    "\xff"};
  const List architectures{"fuzz_arch", "llama", "no_such", ""};
  return {texts(), grammars(), chats(), ops(), dtypes, names(), paths, texts(), architectures};
}

}  // namespace

std::span<const std::string> words(Words from) {
  static const auto all = all_words();
  return all[static_cast<std::size_t>(from)];
}

}  // namespace weft_fuzz
