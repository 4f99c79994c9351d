// Files of saved logits, right and wrong.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/measure/perplexity.h"
#include "weft/sample/log_sum_exp.h"

#include "support/file_bytes.h"
#include "support/temp_folder.h"

namespace weft {
namespace {

constexpr std::int64_t kWindow = 6, kVocab = 5;  // 2 rows a window; an odd vocabulary is padded
const std::vector<std::int32_t> kSavedTokens{0, 1, 2, 3, 4, 0, 4, 3, 2, 1, 0, 4};

std::vector<float> logits_of(int row) {
  std::vector<float> logits;
  for (int i = 0; i < kVocab; ++i) logits.push_back(static_cast<float>((row * 7 + i * 3) % 11));
  return logits;
}

std::vector<std::byte> sample() {
  const test::TempFolder folder;
  const std::string path = folder / "x";
  LogitsWriter writer(path, kWindow, kVocab, kSavedTokens);
  for (int row = 0; row < 4; ++row) writer.add(logits_of(row));
  writer.commit();
  return test::file_bytes(path);
}

void put(std::vector<std::byte>& bytes, std::size_t at, auto value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

std::string refusal(const std::vector<std::byte>& bytes) {
  try {
    SavedLogits::parse(bytes, "F").row(0, 0);
  } catch (const FormatError& e) {
    return e.what();
  }
  return "";
}

TEST_CASE("saved logits are read as they were written, within half a step") {
  const auto bytes = sample();
  CHECK(bytes.size() == 8 + 3 * 4 + 12 * 4 + 4 * (8 + 6 * 2));
  const SavedLogits saved = SavedLogits::parse(bytes, "x");
  CHECK(saved.window() == kWindow);
  CHECK(saved.n_vocab() == kVocab);
  CHECK(saved.n_windows() == 2);
  CHECK(saved.tokens() == kSavedTokens);
  for (int i = 0; i < 4; ++i) {
    const SavedRow row = saved.row(i / 2, i % 2);
    const auto logits = logits_of(i);
    REQUIRE(row.steps.size() == kVocab);
    const double norm = log_sum_exp(logits);
    for (std::size_t k = 0; k < kVocab; ++k) {
      CHECK(std::abs(row.log_probability(k) - (logits[k] - norm)) <=
            static_cast<double>(row.scale) / 2 + 32 * 0x1p-23);
    }
  }
}

TEST_CASE("logits far below the best are clamped, and equal logits stay equal") {
  const test::TempFolder folder;
  const std::string path = folder / "x";
  LogitsWriter writer(path, 4, 4, std::vector<std::int32_t>(8));
  writer.add(std::vector<float>{0, -15, -17, -INFINITY});
  writer.add(std::vector<float>{2, 2, 2, 2});
  writer.commit();
  const SavedLogits saved = SavedLogits::open(path);
  const SavedRow far = saved.row(0, 0), equal = saved.row(1, 0);
  CHECK(far.log_probability(0) == doctest::Approx(0).epsilon(1e-5));
  CHECK(far.log_probability(1) == doctest::Approx(-15).epsilon(1e-4));
  CHECK(far.log_probability(2) == doctest::Approx(-16).epsilon(1e-4));
  CHECK(far.steps[2] == far.steps[3]);
  CHECK(equal.log_probability(3) == doctest::Approx(-std::log(4.0)));
  CHECK_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST_CASE("an unfinished file is removed") {
  const test::TempFolder folder;
  {
    LogitsWriter writer(folder / "x", kWindow, kVocab, kSavedTokens);
    writer.add(logits_of(0));
  }
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("foreign and inconsistent files are rejected") {
  CHECK(refusal({}).find("'_logits_'") != std::string::npos);
  auto bytes = sample();
  put(bytes, 0, 'x');
  CHECK(refusal(bytes) == "F: not a file of saved logits: it does not start with '_logits_'");
  bytes = sample();
  put(bytes, 8, std::int32_t{2});
  CHECK(refusal(bytes).find("tokens of a window must be at least 3, got 2") != std::string::npos);
  put(bytes, 8, std::int32_t{kWindow + 1});
  CHECK(refusal(bytes).find("rows: expected") != std::string::npos);
  bytes = sample();
  put(bytes, 16, INT32_MAX);
  CHECK(refusal(bytes).find("tokens: expected 12884901882 x 4 bytes") != std::string::npos);
  bytes = sample();
  bytes.pop_back();
  CHECK(refusal(bytes).find("rows: expected 4 x 20 bytes, but 79 are left") != std::string::npos);
  bytes.resize(bytes.size() + 3);
  CHECK(refusal(bytes).find("2 bytes follow the rows") != std::string::npos);
  const std::size_t first_row = 8 + 12 + 48;
  for (const float bad : {-1.0f, std::numeric_limits<float>::quiet_NaN(), 1.0f}) {
    bytes = sample();
    put(bytes, first_row, bad);
    CHECK(refusal(bytes).starts_with("F: row 0 of window 0: scale "));
  }
  bytes = sample();
  put(bytes, first_row + 4, -std::numeric_limits<float>::infinity());
  CHECK(refusal(bytes).find("are not those of probabilities") != std::string::npos);
}

}  // namespace
}  // namespace weft
