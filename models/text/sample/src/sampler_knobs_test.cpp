#include "weft/sample/sampler_knobs.h"

#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "weft/sample/sampler.h"

namespace weft {
namespace {

constexpr std::string_view kBegin = "<!-- sampler knobs -->\n", kEnd = "<!-- end -->";

std::string code(std::string_view names, std::string_view between) {
  std::string text;
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(',', at), names.size());
    text += fmt::format("{}`{}`", text.empty() ? "" : between, names.substr(at, end - at));
    at = end + 1;
  }
  return text;
}

std::string row(const KnobText& text, std::string_view value) {
  std::string aliases;
  for (const std::string_view alias : text.aliases)
    if (!alias.empty()) aliases += fmt::format("{}`{}`", aliases.empty() ? "" : ", ", alias);
  if (!aliases.empty()) aliases = " (" + aliases + ")";
  return fmt::format("| `{}`{} | {} | {} | {} |\n", text.name, aliases, code(text.flags, " "),
                     value, text.doc);
}

// The part of docs/sampling.md between the markers.
std::string knob_table() {
  std::string table = "\n| parameter | flag | default | meaning |\n|---|---|---|---|\n";
  const SamplerOptions initial;
  for_each_knob(sampler_knobs(), initial, [&](const KnobText& text, const auto& value) {
    table += row(text, fmt::format("{}", value));
  });
  for (const KnobText& text : sampler_texts()) table += row(text, "");
  return table + "\n";
}

TEST_CASE("every member of SamplerOptions is a knob, or one of the four others") {
  SamplerOptions options;
  // A new member needs a name here, and a knob.
  auto& [seed, penalty_last_n, repeat_penalty, frequency_penalty, presence_penalty, top_k, top_p,
         min_p, temperature, dynamic_range, dynamic_exponent, typical_p, top_n_sigma, tail_free_z,
         xtc_probability, xtc_threshold, dry_multiplier, dry_base, dry_allowed_length, dry_last_n,
         dry_breakers, mirostat, mirostat_tau, mirostat_eta, adaptive_target, adaptive_decay,
         logit_bias, order] = options;
  const std::set<const void*> others{&seed, &dry_breakers, &logit_bias, &order};
  std::set<const void*> members{
      &penalty_last_n, &repeat_penalty, &frequency_penalty,  &presence_penalty, &top_k,
      &top_p,          &min_p,          &temperature,        &dynamic_range,    &dynamic_exponent,
      &typical_p,      &top_n_sigma,    &tail_free_z,        &xtc_probability,  &xtc_threshold,
      &dry_multiplier, &dry_base,       &dry_allowed_length, &dry_last_n,       &mirostat,
      &mirostat_tau,   &mirostat_eta,   &adaptive_target,    &adaptive_decay};
  for_each_knob(sampler_knobs(), options, [&](const KnobText& text, auto& value) {
    CHECK_MESSAGE(members.erase(&value) == 1, text.name);
  });
  CHECK(members.empty());
  CHECK(others.size() == sampler_texts().size());
}

void check_text(const KnobText& text) {
  CAPTURE(text.name);
  CHECK(std::isupper(static_cast<unsigned char>(text.doc.at(0))) != 0);
  CHECK(text.doc.ends_with('.'));
  CHECK(text.doc.find("; ") != text.doc.npos);  // the part about switching it off
  CHECK(text.flags.empty() != text.no_flag.empty());
}

TEST_CASE("knobs have sentences, defaults in their ranges, and names of their own") {
  std::set<std::string_view> names;
  const auto check_names = [&names](const KnobText& text) {
    for (const std::string_view name : text.names()) CHECK_MESSAGE(names.insert(name).second, name);
  };
  const SamplerOptions initial;
  for_each_knob(sampler_knobs(), initial, [&](const Knob<SamplerOptions>& knob, auto value) {
    check_text(knob);
    check_names(knob);
    if constexpr (std::is_arithmetic_v<decltype(value)>) {
      CHECK(knob.range.contains(value));
      CHECK(knob.request_range.value_or(knob.range).contains(value));
    }
  });
  for (const KnobText& text : sampler_texts()) check_text(text), check_names(text);
}

TEST_CASE("without stages tokens are drawn from the model's own distribution") {
  const std::vector<float> logits = {std::log(0.5F), std::log(0.3F), std::log(0.2F)};
  for (const float temperature : {0.0F, 0.1F, 0.8F}) {
    const SamplerOptions none{
        .seed = 3, .top_k = 1, .temperature = temperature, .order = std::vector<std::string>{}};
    Sampler sampler(none), draw(std::vector<StagePtr>{}, 3);
    std::array<int, 3> counts{};
    for (int i = 0; i < 1000; ++i) {
      const TokenId id = sampler.sample(logits);
      CHECK(id == draw.sample(logits));
      ++counts.at(static_cast<std::size_t>(id));
    }
    CHECK(counts[2] > 150);
  }
  CHECK(sampler_chain({.order = std::nullopt}).size() == sampler_chain({}).size());
}

TEST_CASE("docs/sampling.md has the table of the knobs") {
  std::ifstream file(WEFT_SAMPLING_PAGE);
  std::string page(std::istreambuf_iterator<char>(file), {});
  const std::size_t begin = page.find(kBegin), end = page.find(kEnd);
  REQUIRE(begin != page.npos);
  REQUIRE(end > begin);
  const std::size_t at = begin + kBegin.size();
  if (std::getenv("WEFT_WRITE_PAGES")) {
    std::ofstream(WEFT_SAMPLING_PAGE) << page.replace(at, end - at, knob_table());
    return;
  }
  CHECK_MESSAGE(page.substr(at, end - at) == knob_table(),
                "to write the table, run WEFT_WRITE_PAGES=1 sample_test");
}

}  // namespace
}  // namespace weft
