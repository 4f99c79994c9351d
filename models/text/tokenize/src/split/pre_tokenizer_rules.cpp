// The table of pre-tokenizer rules: a row lists its names in tokenizer.ggml.pre and its stages. A
// new rule is a row here (and a new class of characters if its runs need one).

#include <algorithm>
#include <iterator>
#include <utility>

#include "split/pre_tokenizer.h"

namespace weft::tokenize {
namespace {

using namespace char_class;
using Contractions = WordStage::Contractions;
using NewlineTail = WordStage::NewlineTail;
using Lead = RunStage::Lead;
using Notation = PreTokenizerRule::Notation;

// --- sorts of characters ---

bool is_number(char32_t c) {
  return (classify(c) & kNumber) != 0;
}
bool is_letter(char32_t c) {
  return (classify(c) & kLetter) != 0;
}
bool is_punctuation(char32_t c) {
  return (classify(c) & kPunctuation) != 0;
}
bool is_space(char32_t c) {
  return (classify(c) & kSpace) != 0;
}

bool in_text(std::u32string_view set, char32_t c) {
  return set.find(c) != std::u32string_view::npos;
}

bool is_punctuation_or_ascii_symbol(char32_t c) {
  return is_punctuation(c) || in_text(U"$+<=>^~|", c);
}
bool is_punctuation_or_ascii_symbol_or_grave(char32_t c) {
  return is_punctuation_or_ascii_symbol(c) || c == '`';
}

bool is_bloom_word(char32_t c) {
  return !is_space(c) && !in_text(U"(|.,!?\u2026\u3002\uFF0C\u3001\u0964\u06D4\u060C)", c);
}

// DeepSeek: Han, Hangul and the code points between them, as the ranges of its own tokenizer
// file have it.
bool is_deepseek_cjk(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FA5) || (c >= 0x0800 && c <= 0x4E00) ||
         (c >= 0xAC00 && c <= 0xD7FF);
}
bool is_deepseek_v3_cjk(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FA5) || (c >= 0x3040 && c <= 0x30FF);
}

bool is_deepseek_punctuation(char32_t c) {
  constexpr std::pair<char32_t, char32_t> kRanges[] = {{'!', '/'},       {':', '~'},
                                                       {0xFF01, 0xFF0F}, {0xFF1A, 0xFF5E},
                                                       {0x2018, 0x201F}, {0x3000, 0x3002}};
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [&](const auto& r) { return c >= r.first && c <= r.second; });
}

// The cased letters that DeepSeek-LLM's tokenizer file lists, ascending.
bool is_deepseek_letter(char32_t c) {
  constexpr std::pair<char32_t, char32_t> kRanges[] = {
      {'A', 'Z'},         {'a', 'z'},         {0xB5, 0xB5},       {0xC0, 0xD6},
      {0xD8, 0xF6},       {0xF8, 0x1BA},      {0x1BC, 0x1BF},     {0x1C4, 0x293},
      {0x295, 0x2AF},     {0x370, 0x373},     {0x376, 0x377},     {0x37B, 0x37D},
      {0x37F, 0x37F},     {0x386, 0x386},     {0x388, 0x38A},     {0x38C, 0x38C},
      {0x38E, 0x3A1},     {0x3A3, 0x3F5},     {0x3F7, 0x481},     {0x48A, 0x52F},
      {0x531, 0x556},     {0x10A0, 0x10C5},   {0x13A0, 0x13F5},   {0x13F8, 0x13FD},
      {0x1C90, 0x1CBA},   {0x1CBD, 0x1CBF},   {0x1D00, 0x1D2B},   {0x1D6B, 0x1D77},
      {0x1D79, 0x1D9A},   {0x1E00, 0x1F15},   {0x1F18, 0x1F1D},   {0x1F20, 0x1F45},
      {0x1F48, 0x1F4D},   {0x1F50, 0x1F57},   {0x1F59, 0x1F59},   {0x1F5B, 0x1F5B},
      {0x1F5D, 0x1F5D},   {0x1F5F, 0x1F7D},   {0x1F80, 0x1FB4},   {0x1FB6, 0x1FBC},
      {0x1FBE, 0x1FBE},   {0x1FC2, 0x1FC4},   {0x1FC6, 0x1FCC},   {0x1FD0, 0x1FD3},
      {0x1FD6, 0x1FDB},   {0x1FE0, 0x1FEC},   {0x1FF2, 0x1FF4},   {0x1FF6, 0x1FFC},
      {0x2102, 0x2102},   {0x2107, 0x2107},   {0x210A, 0x2113},   {0x2115, 0x2115},
      {0x2119, 0x211D},   {0x2124, 0x2124},   {0x2126, 0x2126},   {0x2128, 0x2128},
      {0x212A, 0x212D},   {0x212F, 0x2134},   {0x2139, 0x2139},   {0x213C, 0x213F},
      {0x2145, 0x2149},   {0x214E, 0x214E},   {0x2183, 0x2184},   {0x2C00, 0x2C7B},
      {0x2C7E, 0x2CE4},   {0x2CEB, 0x2CEE},   {0x2CF2, 0x2CF3},   {0xA640, 0xA66D},
      {0xA680, 0xA69B},   {0xA722, 0xA76F},   {0xA771, 0xA787},   {0xA78B, 0xA78E},
      {0xAB70, 0xABBF},   {0xFB00, 0xFB06},   {0xFB13, 0xFB17},   {0xFF21, 0xFF3A},
      {0xFF41, 0xFF5A},   {0x10400, 0x1044F}, {0x104B0, 0x104D3}, {0x104D8, 0x104FB},
      {0x10C80, 0x10CB2}, {0x10CC0, 0x10CF2}, {0x118A0, 0x118DF}, {0x1E900, 0x1E943},
  };
  const auto* after =
      std::upper_bound(std::begin(kRanges), std::end(kRanges), c,
                       [](char32_t value, const auto& range) { return value < range.first; });
  return after != std::begin(kRanges) && c <= std::prev(after)->second;
}

bool is_youtu_hangul(char32_t c) {
  return (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0x3131 && c <= 0x318E);
}
bool is_youtu_punctuation(char32_t c) {
  return in_text(U"\uFF01\u2026\u201C\u201D\u2018\u2019\u2014\uFF1A\uFF1B\uFF0C", c) ||
         (c >= 0x3001 && c <= 0x303F) || (c >= 0xFE30 && c <= 0xFE4F);
}
bool is_bopomofo(char32_t c) {
  return c >= 0x3105 && c <= 0x312F;
}

// Scripts without spaces between words, as the tokenizer file of AFMoE lists their blocks.
bool is_afmoe_script(char32_t c) {
  constexpr std::pair<char32_t, char32_t> kRanges[] = {
      {0x0E40, 0x0EFF}, {0x1000, 0x109F}, {0x1100, 0x11FF}, {0x1780, 0x17FF}, {0x2F00, 0x2FDF},
      {0x3040, 0x30FF}, {0x3400, 0x4DBF}, {0x4E00, 0x9FFF}, {0xA9E0, 0xA9FF}, {0xAA60, 0xAA7F},
      {0xAC00, 0xD7AF}, {0xF900, 0xFAFF}, {0xFF65, 0xFF9F}};
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [&](const auto& r) { return c >= r.first && c <= r.second; });
}

bool is_chameleon_punctuation(char32_t c) {
  return is_punctuation(c) || (c > 0x20 && c < 0x7F && !is_letter(c) && !is_number(c));
}
bool is_no_space(char32_t c) {
  return !is_space(c);
}

// --- stages ---

constexpr WordStage kGpt2Words{.contractions = Contractions::lower_case,
                               .prefix_is_space = true,
                               .digits_take_space = true,
                               .newline_tail = NewlineTail::none,
                               .newlines = false};
constexpr WordStage kGpt2WordsNoLoneSpace{.contractions = Contractions::lower_case,
                                          .prefix_is_space = true,
                                          .digits_take_space = true,
                                          .newline_tail = NewlineTail::none,
                                          .newlines = false,
                                          .lone_space = false};
constexpr RunStage kSingleDigits{.contains = is_number, .max = 1};
constexpr RunStage kDigitTriples{.contains = is_ascii_digit, .min = 3, .max = 3};

constexpr SplitStage kGpt2[] = {kGpt2Words};
constexpr SplitStage kDigitsThenGpt2[] = {kSingleDigits, kGpt2Words};
constexpr SplitStage kLlama3[] = {
    WordStage{.contractions = Contractions::any_case, .max_digits = 3}};
constexpr SplitStage kJais2[] = {
    WordStage{.contractions = Contractions::any_case, .max_digits = 3, .halving_spaces = true}};
constexpr SplitStage kMinicpm5[] = {RunStage{.contains = is_number, .max = 3},
                                    WordStage{.contractions = Contractions::any_case}};
constexpr WordStage kQwen2Words{.contractions = Contractions::any_case, .max_digits = 1};
constexpr SplitStage kQwen2[] = {kQwen2Words};
constexpr SplitStage kLaguna[] = {RunStage{.contains = is_line_feed}, kQwen2Words};
constexpr SplitStage kExaoneMoe[] = {WordStage{.contractions = Contractions::any_case,
                                               .max_digits = 1,
                                               .newline_tail = NewlineTail::one,
                                               .phrases = true}};
constexpr SplitStage kQwen35[] = {WordStage{.contractions = Contractions::any_case,
                                            .letters = kLetter | kMark,
                                            .max_digits = 1,
                                            .not_punctuation = kSpace | kLetter | kMark | kNumber}};
constexpr WordStage kGpt4oWords{.split_case = true,
                                .split_case_suffix = Contractions::any_case,
                                .max_digits = 3,
                                .newline_tail = NewlineTail::newlines_and_slashes};
constexpr SplitStage kGpt4o[] = {kGpt4oWords};
constexpr SplitStage kTinyAya[] = {split_grouped_decimals, kGpt4oWords};
constexpr SplitStage kYoutu[] = {
    RunStage{.contains = is_youtu_hangul}, RunStage{.contains = is_youtu_punctuation},
    RunStage{.contains = is_bopomofo}, RunStage{.contains = is_deepseek_v3_cjk},
    WordStage{.split_case = true,
              .split_case_suffix = Contractions::any_case,
              .max_digits = 1,
              .newline_tail = NewlineTail::newlines_and_slashes}};
constexpr SplitStage kKimiK2[] = {WordStage{.split_case = true,
                                            .split_case_suffix = Contractions::any_case,
                                            .max_digits = 3,
                                            .han_apart = true}};
constexpr SplitStage kTekken[] = {WordStage{
    .split_case = true, .max_digits = 1, .newline_tail = NewlineTail::newlines_and_slashes}};
constexpr SplitStage kSeedCoder[] = {WordStage{
    .contractions = Contractions::any_case, .max_digits = 1, .newline_tail = NewlineTail::none}};
constexpr WordStage kDeepseekV3Words{.ascii_punctuated_words = true,
                                     .letters = kLetter | kMark,
                                     .not_prefix = kNewline | kLetter | kPunctuation | kSymbol,
                                     .max_digits = 0,
                                     .punctuation = kPunctuation | kSymbol};
constexpr RunStage kThreeDigits{.contains = is_number, .max = 3};
constexpr SplitStage kDeepseekV3[] = {kThreeDigits, RunStage{.contains = is_deepseek_v3_cjk},
                                      kDeepseekV3Words};
constexpr SplitStage kAfmoe[] = {split_grouped_numbers, RunStage{.contains = is_afmoe_script},
                                 kDeepseekV3Words};
constexpr SplitStage kDeepseekLlm[] = {
    RunStage{.contains = is_newline, .max = 1},
    RunStage{.contains = is_deepseek_letter, .lead = Lead::white_space},
    RunStage{.contains = is_deepseek_punctuation, .lead = Lead::white_space},
    RunStage{.contains = is_space, .at_end = true},
    RunStage{.contains = is_deepseek_cjk},
    RunStage{.contains = is_number},
};
constexpr SplitStage kDeepseekCoder[] = {
    RunStage{.contains = is_newline, .max = 1},
    RunStage{.contains = is_letter, .lead = Lead::white_space},
    RunStage{.contains = is_punctuation, .lead = Lead::white_space},
    RunStage{.contains = is_deepseek_cjk},
    kSingleDigits,
};
constexpr SplitStage kFalcon[] = {RunStage{.contains = is_punctuation_or_ascii_symbol_or_grave},
                                  kGpt2WordsNoLoneSpace, kDigitTriples};
constexpr SplitStage kBloom[] = {RunStage{.contains = is_bloom_word, .lead = Lead::space}};
constexpr SplitStage kViking[] = {RunStage{.contains = is_bloom_word, .lead = Lead::space},
                                  kSingleDigits};
constexpr SplitStage kDefault[] = {RunStage{.contains = is_punctuation_or_ascii_symbol},
                                   kGpt2WordsNoLoneSpace, RunStage{.contains = is_number},
                                   kDigitTriples};

constexpr SplitStage kSuperbpe[] = {RunStage{.contains = is_number}, split_before_threes};
constexpr SplitStage kChameleon[] = {split_sentinel,
                                     split_image_token,
                                     split_indentation,
                                     kSingleDigits,
                                     RunStage{.contains = is_chameleon_punctuation, .max = 1},
                                     kGpt2WordsNoLoneSpace};
constexpr SplitStage kLines[] = {RunStage{.contains = is_line_feed}};
constexpr SplitStage kNoSpaces[] = {RunStage{.contains = is_no_space}};

// --- names ---

constexpr std::string_view kGpt2Names[] = {
    "gpt-2",      "phi-2",           "mpt",          "olmo",        "jais",
    "trillion",   "granite-docling", "jina-es",      "jina-de",     "jina-v2-es",
    "jina-v2-de", "jina-v1-en",      "jina-v2-code", "roberta-bpe", "gigachat",
    "a.x-4.0",    "mellum",          "modern-bert",  "exaone4"};
constexpr std::string_view kDigitsThenGpt2Names[] = {
    "starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b", "mellum2"};
constexpr std::string_view kLlama3Names[] = {"llama3",   "llama-v3",  "llama-bpe",
                                             "falcon3",  "falcon-h1", "pixtral",
                                             "midm-2.0", "lfm2",      "jina-v5-nano"};
constexpr std::string_view kLlama3MergingNames[] = {"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"};
constexpr std::string_view kQwen2Names[] = {
    "qwen2",       "stablelm2", "deepseek-r1-qwen", "kormo",  "f2llmv2",
    "megrez",      "hunyuan",   "solar-open",       "grok-2", "bailingmoe",
    "bailingmoe2", "llada-moe", "openpangu"};
constexpr std::string_view kQwen35Names[] = {"qwen35"};
constexpr std::string_view kGpt4oNames[] = {"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"};
constexpr std::string_view kTekkenNames[] = {"tekken"};
constexpr std::string_view kSeedCoderNames[] = {"seed-coder"};
constexpr std::string_view kDeepseekV3Names[] = {"deepseek-v3", "hunyuan-dense", "joyai-llm"};
constexpr std::string_view kDeepseekLlmNames[] = {"deepseek-llm"};
constexpr std::string_view kDeepseekCoderNames[] = {"deepseek-coder"};
constexpr std::string_view kFalconNames[] = {"falcon"};
constexpr std::string_view kBloomNames[] = {"bloom", "poro-chat", "gpt3-finnish"};
constexpr std::string_view kVikingNames[] = {"viking"};
constexpr std::string_view kJais2Names[] = {"jais-2"};
constexpr std::string_view kYoutuNames[] = {"youtu"};
constexpr std::string_view kKimiK2Names[] = {"kimi-k2"};
constexpr std::string_view kSuperbpeNames[] = {"superbpe"};
constexpr std::string_view kTinyAyaNames[] = {"tiny_aya", "cohere2moe"};
constexpr std::string_view kGraniteEmbedNames[] = {"granite-embed-multi-97m"};
constexpr std::string_view kExaoneMoeNames[] = {"exaone-moe"};
constexpr std::string_view kAfmoeNames[] = {"afmoe"};
constexpr std::string_view kLagunaNames[] = {"laguna"};
constexpr std::string_view kMinicpm5Names[] = {"minicpm5"};
constexpr std::string_view kChameleonNames[] = {"chameleon"};
constexpr std::string_view kGemma4Names[] = {"gemma4", "granite-embed-multi-311m"};
constexpr std::string_view kSarvamNames[] = {"sarvam-moe"};
constexpr std::string_view kWhitespaceNames[] = {"whitespace"};
constexpr std::string_view kDefaultNames[] = {"default", ""};

constexpr PreTokenizerRule kRules[] = {
    {kDefaultNames, kDefault},
    {kGpt2Names, kGpt2},
    {kDigitsThenGpt2Names, kDigitsThenGpt2},
    {kLlama3Names, kLlama3, /*ignore_merges=*/true, /*add_bos=*/true},
    {kLlama3MergingNames, kLlama3},
    {kQwen2Names, kQwen2},
    {kQwen35Names, kQwen35},
    {kGpt4oNames, kGpt4o},
    {kTekkenNames, kTekken, /*ignore_merges=*/true, /*add_bos=*/true},
    {kSeedCoderNames, kSeedCoder},
    {kDeepseekV3Names, kDeepseekV3},
    {kDeepseekLlmNames, kDeepseekLlm},
    {kDeepseekCoderNames, kDeepseekCoder},
    {kFalconNames, kFalcon},
    {kBloomNames, kBloom},
    {kJais2Names, kJais2},
    {kYoutuNames, kYoutu, /*ignore_merges=*/true},
    {kKimiK2Names, kKimiK2},
    {kSuperbpeNames, kSuperbpe},
    {kTinyAyaNames, kTinyAya},
    {kGraniteEmbedNames, kGpt4o, /*ignore_merges=*/true},
    {kExaoneMoeNames, kExaoneMoe},
    {kAfmoeNames, kAfmoe},
    {kLagunaNames, kLaguna},
    {kMinicpm5Names, kMinicpm5, /*ignore_merges=*/true},
    {kChameleonNames, kChameleon, /*ignore_merges=*/false, /*add_bos=*/true},
    {kGemma4Names, kLines, /*ignore_merges=*/false, /*add_bos=*/true, Notation::space_symbols,
     /*whole_newlines=*/true},
    {kSarvamNames, kLines, /*ignore_merges=*/false, /*add_bos=*/false, Notation::space_symbols},
    {kWhitespaceNames, kNoSpaces, /*ignore_merges=*/false, /*add_bos=*/false, Notation::plain,
     /*whole_newlines=*/false, /*drop_spaces=*/true},
    {kVikingNames, kViking},
};

}  // namespace

const PreTokenizerRule* find_pre_tokenizer_rule(std::string_view name) {
  for (const PreTokenizerRule& rule : kRules) {
    if (std::find(rule.names.begin(), rule.names.end(), name) != rule.names.end()) return &rule;
  }
  return nullptr;
}

const PreTokenizerRule& default_pre_tokenizer_rule() {
  return kRules[0];
}

}  // namespace weft::tokenize
