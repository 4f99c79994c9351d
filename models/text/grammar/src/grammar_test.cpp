#include "weft/grammar/grammar.h"

#include <functional>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/base/error.h"

#include "matcher.h"
#include "regex/regex.h"
#include "support/npy.h"
#include "support/reference.h"

namespace weft {
namespace {

using grammar::ConfigId;
using grammar::Matcher;

std::string error_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string gbnf_error(std::string_view text) {
  return error_of([&] { Grammar::from_gbnf(text); });
}
std::string schema_error(std::string_view text) {
  return error_of([&] { Grammar::from_json_schema(text); });
}

bool has(const std::string& text, std::string_view part) {
  CAPTURE(text);
  CAPTURE(part);
  return text.find(part) != std::string::npos;
}

TEST_CASE("grammars accept what they should") {
  const auto g = Grammar::from_gbnf(
      "root ::= item (\",\" item)* # list\n"
      "item ::= [a-c]{2,3} | \"\\x41\\u00e9\" | .\n"
      "  | \"<\" root \">\"\n");
  for (const char* text : {"ab", "abc,ab", "A\xC3\xA9", "<ab,<cc>>", "\xF0\x9F\x98\x80", "z"})
    CHECK(g->accepts(text));
  for (const char* text : {"", "ab,", "abca", "<ab", "\xC3", "\xED\xA0\x80", "zz"})
    CHECK_FALSE(g->accepts(text));
}

TEST_CASE("large repeat counts do not need a state each") {
  const auto g = Grammar::from_gbnf("root ::= (\"a\" [bc]){200,1000000}");
  std::string text;
  for (int i = 0; i < 199; ++i) text += "ab";
  CHECK_FALSE(g->accepts(text));
  CHECK(g->accepts(text + "ac"));
  CHECK(g->accepts(text + text + text));
  const auto exact = Grammar::from_gbnf("root ::= \"a\"{4,200} \"b\"");
  for (int n = 0; n < 300; ++n) {
    CAPTURE(n);
    REQUIRE(exact->accepts(std::string(static_cast<std::size_t>(n), 'a') + "b") ==
            (n >= 4 && n <= 200));
  }
}

TEST_CASE("errors in a grammar are reported with their position") {
  CHECK(has(gbnf_error("root ::= foo"), "1:10: rule 'foo' is not defined"));
  CHECK(has(gbnf_error("root ::= \"a\"\nroot ::= \"b\""), "2:1: rule 'root' is defined twice"));
  CHECK(has(gbnf_error("root ::= (\"a\""), "1:10"));
  CHECK(has(gbnf_error("root ::= [a-"), "1:10"));
  CHECK(has(gbnf_error("root ::= \"a\\q\""), "1:12: unknown escape"));
  CHECK(has(gbnf_error("root ::= [z-a]"), "ends before it begins"));
  CHECK(has(gbnf_error("root ::= \"a\"{3,2}"), "ends before it begins"));
  CHECK(has(gbnf_error("x ::= \"a\""), "root rule 'root' is not defined"));
  CHECK(has(gbnf_error("root ::= \"a\" root"), "can never end"));
  CHECK(has(gbnf_error("root ::= <think> \"a\""), "no vocabulary"));
  for (const char* text : {"root ::= root \"a\" | \"b\"", "root ::= x \"a\"\nx ::= root | \"b\"",
                           "root ::= \"c\"\nx ::= y? x \"a\" | \"b\"\ny ::= \"d\""})
    CHECK(has(gbnf_error(text), "left recursion"));
}

TEST_CASE("hostile grammars cost little") {
  std::string deep = "root ::= ";
  for (int i = 0; i < 10'000; ++i) deep += "(";
  deep += "\"a\"";
  for (int i = 0; i < 10'000; ++i) deep += ")";
  CHECK(Grammar::from_gbnf(deep)->accepts("a"));
  CHECK(has(gbnf_error(std::string(1'000'000, '(')), "1:1"));
  const auto nested = Grammar::from_gbnf("root ::= (((((\"a\"?){99}){99}){99}){99}){99} \"b\"");
  CHECK(nested->accepts("b"));
  const auto stars = Grammar::from_gbnf("root ::= (((\"a\"*)*)* (\"a\"*)*)* \"b\"");
  CHECK(stars->accepts(std::string(10'000, 'a') + "b"));
  CHECK_FALSE(stars->accepts(std::string(10'000, 'a')));
  // The number of readings is a Catalan number.
  const auto ambiguous = Grammar::from_gbnf("root ::= s\ns ::= \"a\" s s | \"a\"");
  CHECK(ambiguous->accepts(std::string(101, 'a')));
  const auto nest = Grammar::from_gbnf("root ::= \"[\" root* \"]\"");
  CHECK(nest->accepts(std::string(200'000, '[') + std::string(200'000, ']')));
  const auto right = Grammar::from_gbnf("root ::= \"a\" root | \"b\"");
  CHECK(right->accepts(std::string(1'000'000, 'a') + "b"));
  // Each repetition is named by its place, and each copy of an atom by its category.
  std::string repetitions = "root ::=";
  for (int i = 0; i < 200'000; ++i) repetitions += " \"a\"{1}";
  CHECK(Grammar::from_gbnf(repetitions)->accepts(std::string(200'000, 'a')));
  CHECK(has(error_of([] { Grammar::from_regex("\\p{L}{60000}"); }), "ranges of characters"));
}

TEST_CASE("lengths of a pattern's texts") {
  const auto bounds = [](std::string_view pattern) {
    return grammar::compile_regex(pattern, true).length_bounds();
  };
  constexpr auto kNoEnd = grammar::Dfa::kUnbounded;
  CHECK(bounds("a|bcd|ef") == std::pair<std::uint64_t, std::uint64_t>(1, 3));
  CHECK(bounds("") == std::pair<std::uint64_t, std::uint64_t>(0, 0));
  CHECK(bounds("ab*c") == std::pair<std::uint64_t, std::uint64_t>(2, kNoEnd));
  CHECK(bounds("(a|bb){3,5}c?") == std::pair<std::uint64_t, std::uint64_t>(3, 11));
  CHECK(bounds("x{10000}|y") == std::pair<std::uint64_t, std::uint64_t>(1, 10000));
  CHECK(grammar::Dfa::literals({}).length_bounds() == std::pair(kNoEnd, kNoEnd));
}

TEST_CASE("patterns") {
  const auto accepts = [](std::string_view pattern, std::string_view text) {
    CAPTURE(pattern);
    return Grammar::from_regex(pattern)->accepts(text);
  };
  CHECK(accepts("a|bc*", "bccc"));
  CHECK_FALSE(accepts("a|bc*", "ab"));
  CHECK(accepts("(?:ab){2,3}?", "ababab"));
  CHECK_FALSE(accepts("(ab){2,3}", "ab"));
  CHECK(accepts("[^\\d\\s]+", "x\xC3\xA9"));
  CHECK_FALSE(accepts("[^\\d\\s]+", "x1"));
  CHECK(accepts("^(?!@@)[\\w@]+$", "@a@@"));
  CHECK_FALSE(accepts("^(?!@@)[\\w@]+$", "@@a"));
  CHECK(accepts("(?=.*\\d)(?=.*[a-z]).{3,}", "a1_"));
  CHECK_FALSE(accepts("(?=.*\\d)(?=.*[a-z]).{3,}", "abc"));
  CHECK(accepts("\\p{Lu}\\p{Letter}*", "\xC3\x89t\xC3\xA9"));
  CHECK(accepts("a{,2}", "a{,2}"));
  CHECK(has(error_of([] { Grammar::from_regex("a(b"); }), "column 2"));
  CHECK(has(error_of([] { Grammar::from_regex("(a)\\1"); }), "column 4"));
  CHECK(has(error_of([] { Grammar::from_regex("a(?<=b)"); }), "look-behind"));
  CHECK(has(error_of([] { Grammar::from_regex("(a|b)*a(a|b){40}"); }), "states"));
  CHECK(has(error_of([] { Grammar::from_regex("((((a{99}){99}){99}){99})"); }), "states"));
}

TEST_CASE("a single line has no line ends between values") {
  const char* schema = R"({"type": "array", "items": {"type": "integer"}})";
  const auto line = Grammar::from_json_schema(schema, {.single_line = true});
  const auto lines = Grammar::from_json_schema(schema);
  for (const char* text : {"[1,2]", "[ 1, 2 ]"})
    CHECK((line->accepts(text) && lines->accepts(text)));
  CHECK(lines->accepts("[\n  1,\n  2\n]"));
  CHECK_FALSE(line->accepts("[\n  1,\n  2\n]"));
  CHECK_FALSE(line->accepts("[1,\n2]"));
}

TEST_CASE("closed objects have no unspecified members") {
  const auto accepts = [](std::string_view schema, std::string_view text) {
    CAPTURE(schema);
    CHECK(Grammar::from_json_schema(schema)->accepts(text));  // by the specification
    return Grammar::from_json_schema(schema, {.closed_objects = true})->accepts(text);
  };
  const char* plain = R"({"type": "object", "properties": {"a": {}, "b": {}}})";
  CHECK(accepts(plain, R"({"a": 1, "b": {"c": 2}})"));
  CHECK_FALSE(accepts(plain, R"({"a": 1, "c": 2})"));
  const char* inner = R"({"properties": {"a": {"properties": {"b": {}}}}, "type": "object"})";
  CHECK_FALSE(accepts(inner, R"({"a": {"b": 1, "c": 2}})"));
  CHECK(accepts(R"({"type": "object"})", R"({"c": 2})"));
  for (const char* rest : {"true", "{\"type\": \"integer\"}"}) {
    CHECK(accepts(fmt::format(R"({{"type": "object", "properties": {{"a": {{}}}},
                                   "additionalProperties": {}}})",
                              rest),
                  R"({"a": 1, "c": 2})"));
  }
  const char* patterns = R"({"type": "object", "properties": {"a": {}},
      "patternProperties": {"^x": {"type": "integer"}}})";
  CHECK(accepts(patterns, R"({"x1": 1, "a": 2})"));
  CHECK_FALSE(accepts(patterns, R"({"a": 1, "y": 2})"));
  const char* asked = R"({"type": "object", "properties": {"a": {}}, "required": ["c"]})";
  CHECK(accepts(asked, R"({"a": 1, "c": 2})"));
  CHECK(accepts(R"({"type": "object", "properties": {"a": {}}, "minProperties": 2})",
                R"({"a": 1, "c": 2})"));
  const char* both = R"({"type": "object", "allOf": [{"properties": {"a": {}}},
      {"properties": {"b": {}}}]})";
  CHECK(accepts(both, R"({"a": 1, "b": 2})"));
  CHECK_FALSE(accepts(both, R"({"a": 1, "c": 2})"));
}

TEST_CASE("the texts of a grammar after a prefix") {
  const auto inner = Grammar::from_regex("(ab)*c?");
  const auto grammar = Grammar::with_prefix("say: ", *inner);
  for (const char* text : {"say: ", "say: c", "say: abab", "say: ababc"})
    CHECK(grammar->accepts(text));
  for (const char* text : {"", "c", "say:", "say: ac", "say: say: "})
    CHECK_FALSE(grammar->accepts(text));
  CHECK(Grammar::with_prefix("x", *grammar)->accepts("xsay: abc"));
}

TEST_CASE("schemas") {
  const auto accepts = [](std::string_view schema, std::string_view text) {
    CAPTURE(schema);
    return Grammar::from_json_schema(schema)->accepts(text);
  };
  const char* person = R"({"type": "object", "properties": {"name": {"type": "string"},
      "age": {"type": "integer", "minimum": 0, "maximum": 130}}, "required": ["name"],
      "additionalProperties": false})";
  CHECK(accepts(person, R"({"name": "x", "age": 130})"));
  CHECK(accepts(person, "{\n  \"name\": \"\\u00e9\"\n}"));
  CHECK_FALSE(accepts(person, R"({"name": "x", "age": 131})"));
  CHECK_FALSE(accepts(person, R"({"age": 1})"));
  CHECK_FALSE(accepts(person, R"({"name": "x", "other": 1})"));
  const char* tree = R"({"$ref": "#/$defs/t", "$defs": {"t": {"type": "array",
      "items": {"$ref": "#/$defs/t"}, "maxItems": 2}}})";
  CHECK(accepts(tree, "[[], [[]]]"));
  CHECK_FALSE(accepts(tree, "[[], [], []]"));
  CHECK(accepts(R"({"type": "number", "multipleOf": 0.25, "exclusiveMinimum": -1})", "-0.75"));
  CHECK_FALSE(accepts(R"({"type": "number", "multipleOf": 0.25})", "0.3"));
  CHECK(accepts(R"({"type": "string", "pattern": "^a.c$", "minLength": 3})", "\"a\\u00e9c\""));
  CHECK(accepts(R"({"format": "date", "type": "string"})", "\"2024-02-29\""));
  CHECK_FALSE(accepts(R"({"format": "date", "type": "string"})", "\"2023-02-29\""));
  const auto has_format = [&](const char* format, const char* text) {
    return accepts(fmt::format(R"({{"type": "string", "format": "{}"}})", format),
                   fmt::format("\"{}\"", text));
  };
  for (const char* leap : {"23:59:60Z", "15:59:60-08:00", "01:29:60+01:30", "23:29:60+23:30",
                           "23:59:60.5+00:00", "23:59:60-00:00"})
    CHECK(has_format("time", leap));
  for (const char* none : {"22:59:60Z", "23:58:60Z", "23:59:60+01:00", "23:59:61Z", "23:59:60"})
    CHECK_FALSE(has_format("time", none));
  CHECK(has_format("date-time", "1998-12-31T23:59:60Z"));
  CHECK(has_format("idn-email", "\u00E9va@\u4F8B\u3048.jp"));
  CHECK(has_format("idn-email", "joe.bloggs@example.com"));
  CHECK_FALSE(has_format("idn-email", "\u00E9va@\u4F8B \u3048.jp"));
  CHECK_FALSE(has_format("email", "\u00E9va@example.com"));
  const char* conditional = R"({"if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
      "then": {"required": ["b"]}, "type": "object"})";
  CHECK(accepts(conditional, R"({"a": 2})"));
  CHECK_FALSE(accepts(conditional, R"({"a": 1})"));
  CHECK(accepts(conditional, R"({"a": 1, "b": 0})"));
}

TEST_CASE("hostile schemas cost little") {
  const auto all_of = [](std::string_view each, int n) {
    std::string parts;
    for (int i = 0; i < n; ++i)
      parts += fmt::format("{}{}", i > 0 ? ", " : "", fmt::format(fmt::runtime(each), i));
    return fmt::format(R"({{"allOf": [{}]}})", parts);
  };
  CHECK(has(schema_error(fmt::format(R"({{"items": {}}})",
                                     all_of(R"({{"anyOf": [{{"required": ["a{0}"]}}, {{"required":
                                         ["b{0}"]}}]}})",
                                            20))),
            "schema #/items: more than 200000 combinations"));
  CHECK(has(schema_error(fmt::format(R"({{"items": {}}})",
                                     all_of(R"({{"anyOf": [{{"pattern": "a{0}"}}, {{"pattern":
                                         "b{0}"}}]}})",
                                            12))),
            "schema #/items"));
  std::string patterns;
  for (int i = 1; i < 9; ++i)
    patterns += fmt::format(R"({}"a.{{{}}}b": true)", i > 1 ? ", " : "", i);
  CHECK(
      has(schema_error(fmt::format(R"({{"patternProperties": {{{}}}}})", patterns)), "schema #: "));
}

TEST_CASE("unsupported parts of a schema are rejected with their place") {
  CHECK(has(schema_error(R"({"properties": {"a/b": {"type": "array", "uniqueItems": true}}})"),
            "#/properties/a~1b/uniqueItems"));
  CHECK(has(schema_error(R"({"pattern": "(a)\\1", "type": "string"})"), "#/pattern"));
  CHECK(has(schema_error(R"({"$ref": "http://example.com/other"})"), "#/$ref"));
  CHECK(has(schema_error(R"({"type": "string", "enum": [1]})"), "allows no value"));
  CHECK(has(schema_error("false"), "allows no value"));
  CHECK(has(schema_error(R"({"enum": []})"), "allows no value that ends (#/enum is empty)"));
  CHECK(has(schema_error(R"({"$ref": "#"})"), "schema #/$ref: refers to itself without end"));
  CHECK(has(schema_error(R"({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"},
                                                           "b": {"$ref": "#/$defs/a"}}})"),
            "schema #/$defs/a/$ref: refers to itself without end"));
  CHECK(has(schema_error(R"({"type": "object", "properties": {"a": false}, "required": ["a"]})"),
            "(#/properties/a is false, and required)"));
  CHECK(has(schema_error(R"({"type": "object", "additionalProperties": false, "required": ["a"]})"),
            "(#/required requires 'a', which #/additionalProperties forbids)"));
  CHECK(has(schema_error(R"({"items": {}, "type": "array", "minItems": 3, "maxItems": 1})"),
            "(#/minItems is above maxItems)"));
  CHECK(has(schema_error(R"({"type": "object", "properties": {"a": {"$ref": "#"}},
                            "required": ["a"]})"),
            "allows no value"));
  CHECK(has(schema_error(R"({"type": "strnig"})"), "#/type"));
  CHECK(has(schema_error(R"({"required": "a"})"), "#/required: must be an array of names"));
  CHECK(has(schema_error(R"({"required": ["a", 1]})"), "#/required/1: must be a name"));
  CHECK(has(schema_error(R"({"properties": ["a"]})"), "#/properties: must be an object"));
  CHECK(has(schema_error(R"({"prefixItems": {}})"), "#/prefixItems: must be an array"));
  // 395137000000 is 8768 modulo 2^32.
  CHECK(has(schema_error(R"({"multipleOf": 395137000000})"), "#/multipleOf"));
  CHECK(has(schema_error(R"({"multipleOf": 39999})"), "#/multipleOf"));
  CHECK(has(schema_error(R"({"not": {"const": 1e500}})"), "#/not/const"));
  CHECK(has(schema_error(R"({"type": "string", "pattern": "^a*$", "minLength": 100000})"),
            "#/minLength"));
  CHECK(has(schema_error(R"({"propertyNames": {"maxLength": 100000}})"),
            "#/propertyNames/maxLength"));
  CHECK(has(schema_error(R"({"not": {"enum": ["a", 2, 1e500]}})"),
            "schema #/not/enum/2: not supported"));
  std::string contains;
  for (int i = 0; i < 40; ++i)
    contains += fmt::format(R"({}{{"contains": {{"const": {}}}}})", i > 0 ? ", " : "", i);
  CHECK(has(schema_error(fmt::format(R"({{"type": "array", "allOf": [{}]}})", contains)),
            "/contains: not supported: more than 6"));
  CHECK(has(schema_error("{\"a\": \"\\ud800\"}"), "surrogate"));
  CHECK(has(schema_error("{"), "JSON 1:2"));
  CHECK(has(schema_error(std::string(100'000, '[')), "deep"));
}

void check_golden(const nlohmann::json& c, const std::string& text) {
  CAPTURE(c.at("name").get<std::string>());
  if (!c.at("grammar_ok").get<bool>()) {
    CHECK_THROWS_AS(Grammar::from_gbnf(text), FormatError);
    return;
  }
  const auto g = Grammar::from_gbnf(text);
  for (const auto& s : c.at("strings")) {
    const auto input = s.at("text").get<std::string>();
    CAPTURE(input);
    Matcher matcher(g->compiled());
    ConfigId at = matcher.start();
    std::size_t characters = 0;  // number of characters that were accepted
    bool alive = true;
    for (std::size_t i = 0; alive && i < input.size();) {
      std::size_t length = 1;
      while (i + length < input.size() && (input[i + length] & 0xC0) == 0x80) ++length;
      at = matcher.feed(at, std::string_view(input).substr(i, length));
      alive = at != Matcher::kDead;
      characters += alive ? 1 : 0;
      i += length;
    }
    const char* result = !alive ? "reject" : matcher.may_end(at) ? "accept" : "prefix";
    CHECK(s.at("result").get<std::string>() == result);
    CHECK(s.at("chars_consumed").get<std::size_t>() == characters);
  }
}

std::string text_of(const std::filesystem::path& path) {
  const auto bytes = test::read_bytes(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST_CASE("grammars agree with the reference") {
  const auto dir = test::reference("golden/grammar");
  if (!dir) return;
  const auto golden = nlohmann::json::parse(text_of(*dir / "grammar.json"));
  for (const auto& c : golden.at("cases")) {
    check_golden(c, c.contains("grammar_file")
                        ? text_of(*dir / ".." / ".." / c.at("grammar_file").get<std::string>())
                        : c.at("grammar").get<std::string>());
  }
}

}  // namespace
}  // namespace weft
