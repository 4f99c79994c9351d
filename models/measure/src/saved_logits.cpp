// Files of saved logits: reading and writing.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"
#include "weft/files/cursor.h"
#include "weft/files/mapped_file.h"
#include "weft/measure/perplexity.h"
#include "weft/sample/log_sum_exp.h"

namespace weft {
namespace {

constexpr std::string_view kMagic = "_logits_";
constexpr float kReach = 16;  // how far below the best token steps go
constexpr float kSteps = 65535;
constexpr std::size_t kRowHeader = 4;  // u16 numbers: two floats

std::size_t row_length(std::int64_t n_vocab) {
  return kRowHeader + static_cast<std::size_t>(n_vocab + n_vocab % 2);
}

std::int64_t read_number(gguf::Cursor& cursor, std::string_view what, std::int32_t min) {
  const auto value = cursor.read<std::int32_t>(what);
  if (value < min) cursor.fail_here("{} must be at least {}, got {}", what, min, value);
  return value;
}

// One row; `out` has row_length() elements.
void encode(std::span<const float> logits, std::span<std::uint16_t> out) {
  const auto [min, max] = std::ranges::minmax(logits);
  const float bottom = std::max(min, max - kReach);
  const auto norm = static_cast<float>(log_sum_exp(logits));
  const float scale = (max - bottom) / kSteps, minimum = bottom - norm;
  std::memcpy(out.data(), &scale, sizeof scale);
  std::memcpy(out.data() + sizeof scale / sizeof out[0], &minimum, sizeof minimum);
  const float per_unit = scale > 0 ? 1 / scale : 0;
  std::uint16_t* steps = out.data() + kRowHeader;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float step = std::min((std::max(logits[i], bottom) - bottom) * per_unit, kSteps);
    steps[i] = static_cast<std::uint16_t>(static_cast<std::int32_t>(step + 0.5f));
  }
}

}  // namespace

SavedLogits SavedLogits::parse(std::span<const std::byte> bytes, const std::string& name) {
  gguf::Cursor cursor(bytes, name);
  const auto magic = cursor.take(kMagic.size(), 1, "'_logits_'");
  if (std::memcmp(magic.data(), kMagic.data(), kMagic.size()) != 0)
    fail<FormatError>("{}: not a file of saved logits: it does not start with '{}'",
                      printable_path(name), kMagic);
  SavedLogits s;
  s.name_ = name;
  s.window_ = read_number(cursor, "tokens of a window", 3);
  s.n_vocab_ = read_number(cursor, "tokens of the vocabulary", 1);
  s.n_windows_ = read_number(cursor, "number of windows", 1);
  const auto n_tokens =
      static_cast<std::uint64_t>(s.window_) * static_cast<std::uint64_t>(s.n_windows_);
  const auto tokens = cursor.take(n_tokens, sizeof(std::int32_t), "tokens");
  s.tokens_.resize(static_cast<std::size_t>(n_tokens));
  std::memcpy(s.tokens_.data(), tokens.data(), tokens.size());
  const auto n_rows = static_cast<std::uint64_t>(rows_per_window(s.window_)) *
                      static_cast<std::uint64_t>(s.n_windows_);
  s.rows_ = cursor.take(n_rows, row_length(s.n_vocab_) * sizeof(std::uint16_t), "rows");
  if (cursor.remaining() > 0) cursor.fail_here("{} bytes follow the rows", cursor.remaining());
  return s;
}

SavedLogits SavedLogits::open(const std::string& path) {
  auto file = std::make_shared<const MappedFile>(path);
  SavedLogits s = parse(file->bytes(), path);
  if (file->failed()) refuse_missing_pages(path);
  s.file_ = std::move(file);
  return s;
}

SavedRow SavedLogits::row(std::int64_t window, std::int64_t i) const {
  const std::size_t length = row_length(n_vocab_) * sizeof(std::uint16_t);
  const auto index = static_cast<std::size_t>(window * rows_per_window(window_) + i);
  const std::byte* at = rows_.data() + index * length;
  SavedRow row;
  std::memcpy(&row.scale, at, sizeof row.scale);
  std::memcpy(&row.minimum, at + sizeof row.scale, sizeof row.minimum);
  const float best = row.minimum + kSteps * row.scale;
  // A probability of 1 may be slightly larger because of rounding.
  if (!(row.scale >= 0) || !std::isfinite(row.minimum) || !(best <= 0.01f)) {
    fail<FormatError>(
        "{}: row {} of window {}: scale {} and minimum {} are not those of probabilities",
        printable_path(name_), i, window, row.scale, row.minimum);
  }
  row.steps = {reinterpret_cast<const std::uint16_t*>(at + 2 * sizeof(float)),
               static_cast<std::size_t>(n_vocab_)};
  return row;
}

LogitsWriter::LogitsWriter(const std::string& path, std::int64_t window, std::int64_t n_vocab,
                           std::span<const std::int32_t> tokens)
    : file_(path), row_(row_length(n_vocab)) {
  const std::int32_t numbers[] = {static_cast<std::int32_t>(window),
                                  static_cast<std::int32_t>(n_vocab),
                                  static_cast<std::int32_t>(std::ssize(tokens) / window)};
  file_.write(kMagic);
  file_.write(std::as_bytes(std::span(numbers)));
  file_.write(std::as_bytes(tokens));
}

void LogitsWriter::add(std::span<const float> logits) {
  encode(logits, row_);
  file_.write(std::as_bytes(std::span(row_)));
}

void LogitsWriter::commit() {
  file_.commit();
}

}  // namespace weft
