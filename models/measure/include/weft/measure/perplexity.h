#pragma once
// How well a model predicts a text, and how far its predictions are from those of another model:
// likelihoods of tokens, averages with their standard errors, and files of saved logits. All sums
// are made in double precision and in the order of the tokens: the same tokens give the same
// figures.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/files/output_file.h"

namespace weft {

// -ln p(token). REQUIRES: like log_sum_exp() (weft/sample/log_sum_exp.h).
double negative_log_likelihood(std::span<const float> logits, std::int32_t token);

// A mean and its standard error, the deviation of the values over sqrt(n - 1); 0 for fewer than 2.
struct Estimate {
  double value = 0, error = 0;
};

class Mean {
 public:
  void add(double x) {
    sum_ += x;
    squares_ += x * x;
    ++count_;
  }
  std::int64_t count() const { return count_; }
  double sum() const { return sum_; }
  Estimate get() const;

 private:
  double sum_ = 0, squares_ = 0;
  std::int64_t count_ = 0;
};

// exp of the mean of negative log-likelihoods.
Estimate perplexity(const Mean& nll);

// Log-probabilities of all tokens after one token, in 16 bits each: minimum + scale * steps[i].
// Values more than 16 below the highest one are stored as the minimum.
struct SavedRow {
  float scale = 0, minimum = 0;
  std::span<const std::uint16_t> steps;
  double log_probability(std::size_t i) const {
    return static_cast<double>(scale) * steps[i] + static_cast<double>(minimum);
  }
};

// A file of saved rows, as llama.cpp's perplexity tool writes and reads it (little-endian):
//
//   "_logits_"    8 bytes
//   window, n_vocab, n_windows   i32 each
//   tokens        i32[n_windows * window]
//   rows          per window one for each of its positions window / 2 .. window - 2:
//                 scale f32, minimum f32, steps u16[n_vocab, rounded up to an even number]
class SavedLogits {
 public:
  // The file stays mapped. Throws IoError, FormatError. Every number is checked except the
  // token ids, which need a vocabulary.
  static SavedLogits open(const std::string& path);
  // The same over bytes in memory that outlive the object and begin at an even address.
  static SavedLogits parse(std::span<const std::byte> bytes, const std::string& name);

  std::int64_t window() const { return window_; }
  std::int64_t n_vocab() const { return n_vocab_; }
  std::int64_t n_windows() const { return n_windows_; }
  const std::vector<std::int32_t>& tokens() const { return tokens_; }
  // Throws FormatError if scale or minimum are invalid. REQUIRES: 0 <= window < n_windows(), 0
  // <= i < rows_per_window(window()). Valid as long as the object.
  SavedRow row(std::int64_t window, std::int64_t i) const;

 private:
  std::string name_;
  std::shared_ptr<const void> file_;
  std::span<const std::byte> rows_;
  std::int64_t window_ = 0, n_vocab_ = 0, n_windows_ = 0;
  std::vector<std::int32_t> tokens_;
};

// The second half of a window is scored, except its last position, which has nothing to predict.
constexpr std::int64_t first_scored(std::int64_t window) {
  return window / 2;
}
constexpr std::int64_t rows_per_window(std::int64_t window) {
  return window - 1 - first_scored(window);
}

// Writes a file of saved logits, row by row; it appears under its name with commit().
class LogitsWriter {
 public:
  // REQUIRES: tokens are whole windows. Throws IoError, like the others.
  LogitsWriter(const std::string& path, std::int64_t window, std::int64_t n_vocab,
               std::span<const std::int32_t> tokens);
  void add(std::span<const float> logits);  // REQUIRES: n_vocab of them
  void commit();

 private:
  OutputFile file_;
  std::vector<std::uint16_t> row_;
};

// One prediction compared with that of a base model.
struct Compared {
  double nll = 0, base_nll = 0;
  double divergence = 0;  // Kullback-Leibler, sum_i base(i) ln(base(i) / p(i)) over the tokens with
                          // base(i) >= e^-16
  double difference = 0;  // p(token) - base(token)
  bool same_top = false;  // both have the same most likely token
};
// REQUIRES: logits.size() == base.steps.size(); 0 <= token < logits.size().
Compared compare(std::span<const float> logits, const SavedRow& base, std::int32_t token);

// Comparison over all tokens.
class Comparison {
 public:
  void add(const Compared& c);
  std::int64_t count() const { return nll_.count(); }
  Estimate perplexity() const { return weft::perplexity(nll_); }
  Estimate base_perplexity() const { return weft::perplexity(base_); }
  Estimate log_ratio() const;  // ln(perplexity / base perplexity)
  double correlation() const;  // between the two negative log-likelihoods
  Estimate divergence() const { return divergence_.get(); }
  Estimate difference() const { return difference_.get(); }
  Estimate rms_difference() const;
  Estimate same_top() const;
  // In ascending order, for percentile().
  std::vector<double> sorted_divergences() const;
  std::vector<double> sorted_differences() const;

 private:
  double covariance() const;  // the covariance of the means

  Mean nll_, base_, divergence_, difference_, squared_;
  double products_ = 0;
  std::int64_t same_ = 0;
  std::vector<float> divergences_, differences_;
};

// Interpolates between the two values nearest to `fraction`, 0 to 1. REQUIRES: sorted, not empty.
double percentile(std::span<const double> sorted, double fraction);

}  // namespace weft
