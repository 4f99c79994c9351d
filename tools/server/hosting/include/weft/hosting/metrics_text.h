#pragma once
// The text format of Prometheus.
// https://prometheus.io/docs/instrumenting/exposition_formats/

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::server {

// Counts of seconds, by upper bounds from 1 ms to 10 minutes. Any thread may add.
class Histogram {
 public:
  static constexpr std::array<double, 18> kBounds{
      0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 120, 300, 600};
  void add(double seconds);

  struct Values {
    std::array<std::uint64_t, kBounds.size() + 1> counts;  // the last one: above all bounds
    double sum;
  };
  Values values() const;

 private:
  std::array<std::atomic<std::uint64_t>, kBounds.size() + 1> counts_{};
  std::atomic<std::uint64_t> sum_ns_{0};
};

using Labels = std::vector<std::pair<std::string, std::string>>;

// Appends metrics to a text: HELP and TYPE once per name, then the samples.
class MetricsText {
 public:
  explicit MetricsText(std::string_view prefix) : prefix_(prefix) {}

  enum class Kind { counter, gauge, histogram };
  // Begins a metric; the samples that follow belong to it.
  void begin(std::string_view name, Kind kind, std::string_view help);
  void sample(double value, const Labels& labels = {});
  // A metric with one sample.
  void counter(std::string_view name, std::string_view help, double value);
  void gauge(std::string_view name, std::string_view help, double value);
  void histogram(std::string_view name, std::string_view help, const Histogram& histogram);

  std::string take() && { return std::move(text_); }

 private:
  void line(std::string_view suffix, const Labels& labels, double value);

  std::string prefix_, name_, text_;
};

}  // namespace weft::server
