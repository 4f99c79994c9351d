#include "safetensors/tokenizer/split_patterns.h"

#include "weft/base/no_destructor.h"

namespace weft::safetensors {
namespace {

constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kOneDigit = R"(\p{N})";
constexpr std::string_view kThreeDigits = R"(\p{N}{1,3})";
// Stages without a pattern that split at runs of such characters.
constexpr const char* kDigits = "(digits)";
constexpr const char* kPunctuation = "(punctuation)";
constexpr const char* kBloom = R"( ?[^(\s|[.,!?…。，、।۔،])]+)";

// Patterns in order; each one splits the pieces of the previous one.
struct Row {
  std::string_view name;
  std::vector<std::string> patterns;
  bool ignore_merges = false;
};

// pre_tokenizer_rules.cpp defines the names.
std::vector<Row> make_rows() {
  const std::string contractions = R"((?i:'s|'t|'re|'ve|'m|'ll|'d))";
  const std::string spaces = R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
  const std::string upper = R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])";
  const std::string lower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";
  const std::string words = R"(|[^\r\n\p{L}\p{N}]?\p{L}+|)";
  const std::string others = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|)";
  const std::string rest = others + spaces;
  const std::string others_and_slashes = R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*|)";
  const auto cased = [&](const std::string& digits) {
    return upper + "*" + lower + "+" + contractions + "?|" + upper + "+" + lower + "*" +
           contractions + "?|" + digits + others_and_slashes + spaces;
  };
  return {
      {"gpt-2", {std::string(kGpt2)}},
      {"smollm", {std::string(kOneDigit), std::string(kGpt2)}},
      {"falcon", {kPunctuation, std::string(kGpt2), kDigits, "[0-9][0-9][0-9]"}},
      {"llama-bpe", {contractions + words + R"(\p{N}{1,3})" + others + spaces}, true},
      {"smaug-bpe", {contractions + words + R"(\p{N}{1,3})" + others + spaces}},
      {"qwen2", {contractions + words + R"(\p{N})" + others + spaces}},
      {"qwen35",
       {contractions + R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" +
        spaces}},
      {"seed-coder", {contractions + words + R"(\p{N}| ?[^\s\p{L}\p{N}\r\n]+|)" + spaces}},
      {"seed-coder", {contractions + words + R"(\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|)" + spaces}},
      {"gpt-4o", {cased(R"(\p{N}{1,3})")}},
      {"granite-embed-multi-97m", {cased(R"(\p{N}{1,3})")}, true},
      {"tiny_aya", {R"(\d{1,3}(?=(?:\d{3})*\b))", cased(R"(\p{N}{1,3})")}},
      {"youtu",
       {R"([가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+)",
        cased(R"(\p{N})")},
       true},
      {"jais-2",
       {contractions + words + R"(\p{N}{1,3})" + others +
        R"(\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S))"
        R"(|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})"}},
      {"minicpm5", {std::string(kThreeDigits), contractions + words + R"(\p{N}+)" + rest}, true},
      {"bailingmoe",
       {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*)"
        R"(|\s*[\r\n]|\s+(?!\S)|\s+)"}},
      {"exaone-moe",
       {contractions + R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N})" +
        R"(| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)"}},
      {"superbpe", {R"(\p{N}+)", R"((?=(\d{3})+(?!\d)))"}},
      {"bloom", {kBloom}},
      {"viking", {kBloom, std::string(kOneDigit)}},
      {"tekken",
       {upper + "*" + lower + "+|" + upper + "+" + lower + R"(*|\p{N})" + others_and_slashes +
        spaces},
       true},
      {"deepseek-v3",
       {R"(\p{N}{1,3})", "[一-龥぀-ゟ゠-ヿ]+",
        R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
        R"(| ?[\p{P}\p{S}]+[\r\n]*|)" +
            spaces}},
      {"deepseek-coder",
       {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", "[一-龥ࠀ-一가-\uD7FF]+",
        std::string(kOneDigit)}},
  };
}

}  // namespace

std::string with_escapes(const std::string& pattern) {
  std::string text;
  for (const char c : pattern) c == '\r' ? text += "\\r" : c == '\n' ? text += "\\n" : text += c;
  return text;
}

std::optional<std::string> rule_pattern(const JsonObject& stage) {
  const std::string type = stage.find_string("type").value_or("");
  if (type == "Digits")
    return stage.find_bool("individual_digits").value_or(false) ? std::string(kOneDigit) : kDigits;
  if (type == "Punctuation" && stage.find_string("behavior") == "Contiguous") return kPunctuation;
  if (type != "Split") return std::nullopt;
  const std::string behavior = stage.find_string("behavior").value_or("");
  const bool invert = stage.find_bool("invert").value_or(false);
  const auto pattern = stage.find_object("pattern");
  const auto regex = pattern ? pattern->find_string("Regex") : std::nullopt;
  const bool isolated = behavior == "Isolated" && !invert;
  const bool kept = behavior == "Removed" && invert;  // the same if everything is matched
  if (!regex || (!isolated && !kept)) return std::nullopt;
  return with_escapes(*regex);
}

std::string_view find_pre_tokenizer_name(const std::vector<std::string>& patterns,
                                         std::optional<bool> ignore_merges) {
  static const NoDestructor rows(make_rows());
  for (const Row& row : *rows)
    if (row.patterns == patterns && row.ignore_merges == ignore_merges.value_or(row.ignore_merges))
      return row.name;
  return {};
}

std::string_view find_byte_level_name(std::span<const JsonObject> stages, bool ignore_merges) {
  std::vector<std::string> patterns;
  for (const JsonObject& stage : stages) {
    if (const auto pattern = rule_pattern(stage)) {
      patterns.push_back(*pattern);
    } else if (stage.find_string("type") == "ByteLevel" &&
               !stage.find_bool("add_prefix_space").value_or(true)) {
      if (stage.find_bool("use_regex").value_or(true)) patterns.emplace_back(kGpt2);
    } else {
      return {};
    }
  }
  return find_pre_tokenizer_name(patterns, ignore_merges);
}

}  // namespace weft::safetensors
