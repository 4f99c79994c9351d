// What the components of tokenizer.json become in a pipeline.

#include <algorithm>
#include <span>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/base/utf8.h"
#include "weft/tokenize/space_symbol.h"

#include "safetensors/tokenizer/components.h"
#include "safetensors/tokenizer/split_patterns.h"

namespace weft::safetensors {
namespace {

[[noreturn]] void refuse(const JsonObject& component, std::string_view what) {
  fail<UnsupportedError>("{}: {} is not supported: {}", printable_path(component.file()), what,
                         printable(component.json().dump(), 600));
}

TextPattern read_pattern(const JsonObject& component) {
  const auto pattern = component.find_object("pattern");
  if (!pattern) component.mismatch("pattern", "an object");
  if (const auto text = pattern->find_string("String")) {
    if (text->empty()) pattern->mismatch("String", "a text");
    return {.text = *text};
  }
  const auto regex = pattern->find_string("Regex");
  if (!regex) pattern->mismatch("Regex", "a regular expression");
  return {.text = with_escapes(*regex), .regex = true};
}

std::string read_char(const JsonObject& component, std::string_view key) {
  const std::string text = component.find_string(key).value_or("");
  if (text.empty() || decode_utf8(text, 0).length != text.size())
    component.mismatch(key, "one character");
  return text;
}

using Behavior = split::Behavior;

constexpr std::pair<std::string_view, Behavior> kBehaviors[] = {
    {"Removed", Behavior::removed},
    {"Isolated", Behavior::isolated},
    {"MergedWithPrevious", Behavior::merged_with_previous},
    {"MergedWithNext", Behavior::merged_with_next},
    {"Contiguous", Behavior::contiguous}};

Behavior read_behavior(const JsonObject& component, std::string_view otherwise) {
  const std::string name = component.find_string("behavior").value_or(std::string(otherwise));
  for (const auto& [known, behavior] : kBehaviors)
    if (known == name) return behavior;
  refuse(component, "this 'behavior'");
}

normalize::Step read_normalizer(const JsonObject& c, std::string_view charsmap) {
  const std::string type = c.find_string("type").value_or("");
  const auto flag = [&](const char* key, bool otherwise) {
    return c.find_bool(key).value_or(otherwise);
  };
  if (type == "Strip") return normalize::Strip{flag("strip_left", true), flag("strip_right", true)};
  if (type == "StripAccents") return normalize::StripAccents{};
  if (type == "Lowercase") return normalize::Lowercase{};
  if (type == "Nmt") return normalize::Nmt{};
  if (type == "ByteLevel") return normalize::ByteLevel{};
  if (type == "Prepend") return normalize::Prepend{c.find_string("prepend").value_or("")};
  if (type == "Precompiled") {
    const Json* table = c.find("precompiled_charsmap");
    if (table && *table != "" && charsmap.empty())
      c.mismatch("precompiled_charsmap", "a table, which the file does not have");
    return normalize::Precompiled{std::string(charsmap)};
  }
  if (type == "Replace") {
    TextPattern pattern = read_pattern(c);
    if (pattern.regex && !is_run_pattern(pattern.text)) refuse(c, "this 'pattern'");
    return normalize::Replace{std::move(pattern), c.find_string("content").value_or("")};
  }
  if (type == "BertNormalizer") {
    const bool lowercase = flag("lowercase", true);
    return normalize::Bert{.clean_text = flag("clean_text", true),
                           .space_ideographs = flag("handle_chinese_chars", true),
                           .strip_accents = flag("strip_accents", lowercase),
                           .lowercase = lowercase};
  }
  return normalize::UnicodeForm{.compose = type.ends_with('C'),
                                .compatible = type.starts_with("NFK")};
}

// Old files say add_prefix_space instead of prepend_scheme.
split::Metaspace read_metaspace(const JsonObject& c) {
  using Prefix = split::Metaspace::Prefix;
  const std::string scheme =
      c.find_string("prepend_scheme")
          .value_or(c.find_bool("add_prefix_space").value_or(true) ? "always" : "never");
  if (scheme != "always" && scheme != "first" && scheme != "never")
    refuse(c, "this 'prepend_scheme'");
  return {.replacement =
              c.find("replacement") ? read_char(c, "replacement") : std::string(kSpaceSymbol),
          .prefix = scheme == "always"  ? Prefix::always
                    : scheme == "first" ? Prefix::first
                                        : Prefix::never,
          .split = c.find_bool("split").value_or(true)};
}

split::Step read_split(const JsonObject& c) {
  const std::string type = c.find_string("type").value_or("");
  if (type == "BertPreTokenizer") return split::BertWords{};
  if (type == "Whitespace") return split::Whitespace{};
  if (type == "WhitespaceSplit") return split::WhitespaceOnly{};
  if (type == "Metaspace") return read_metaspace(c);
  if (type == "Punctuation") return split::Punctuation{read_behavior(c, "Isolated")};
  if (type == "Digits") return split::Digits{c.find_bool("individual_digits").value_or(false)};
  if (type == "ByteLevel")
    return split::ByteLevel{c.find_bool("add_prefix_space").value_or(true),
                            c.find_bool("use_regex").value_or(true)};
  if (type == "CharDelimiterSplit")
    return split::AtPattern{{.text = read_char(c, "delimiter")}, Behavior::removed};
  if (type == "FixedLength") {
    const std::uint64_t length = c.find_uint("length").value_or(5);
    if (length == 0) c.mismatch("length", "at least 1");
    return split::FixedLength{length};
  }
  split::AtPattern step{read_pattern(c), read_behavior(c, ""),
                        c.find_bool("invert").value_or(false)};
  if (step.pattern.regex && !is_run_pattern(step.pattern.text)) refuse(c, "this 'pattern'");
  return step;
}

// Patterns that do not stand for a run of characters are those of a pre-tokenizer rule, which may
// have several. Returns how many components are the rule `name`.
std::size_t match_rule(std::span<const JsonObject> from, std::string_view& name) {
  std::vector<std::string> patterns;
  for (const JsonObject& component : from.first(std::min(from.size(), kMaxRulePatterns))) {
    const auto pattern = rule_pattern(component);
    if (!pattern) break;
    patterns.push_back(*pattern);
  }
  for (; !patterns.empty(); patterns.pop_back()) {
    name = find_pre_tokenizer_name(patterns);
    if (!name.empty()) return patterns.size();
  }
  return 0;
}

// Runs are computed as they are: a rule of runs alone gives the same pieces.
bool is_plain_split(const JsonObject& component) {
  if (component.find_string("type") != "Split") return true;
  const TextPattern pattern = read_pattern(component);
  return !pattern.regex || is_run_pattern(pattern.text);
}

}  // namespace

std::vector<normalize::Step> read_normalizers(const JsonObject& json, std::string_view charsmap) {
  std::vector<normalize::Step> steps;
  for (const JsonObject& component : components(json, kNormalizer))
    steps.push_back(read_normalizer(component, charsmap));
  return steps;
}

std::vector<split::Step> read_splits(const JsonObject& json) {
  const std::vector<JsonObject> all = components(json, kPreTokenizer);
  std::vector<split::Step> steps;
  for (std::size_t i = 0; i < all.size();) {
    std::string_view rule;
    std::size_t n = match_rule(std::span(all).subspan(i), rule);
    if (std::ranges::all_of(std::span(all).subspan(i, n), is_plain_split)) n = 0;
    if (n > 0) {
      steps.emplace_back(split::ByRule{std::string(rule)});
    } else {
      steps.push_back(read_split(all[i]));
    }
    i += std::max<std::size_t>(n, 1);
  }
  return steps;
}

}  // namespace weft::safetensors
