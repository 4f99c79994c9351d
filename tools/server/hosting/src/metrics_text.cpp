#include "weft/hosting/metrics_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace weft::server {
namespace {

std::string escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') escaped += '\\';
    if (c == '\n')
      escaped += "\\n";
    else
      escaped += c;
  }
  return escaped;
}

std::string_view name_of(MetricsText::Kind kind) {
  switch (kind) {
    case MetricsText::Kind::counter:
      return "counter";
    case MetricsText::Kind::gauge:
      return "gauge";
    case MetricsText::Kind::histogram:
      return "histogram";
  }
  return "untyped";
}

}  // namespace

void Histogram::add(double seconds) {
  if (!(seconds >= 0)) seconds = 0;
  const auto i = std::ranges::lower_bound(kBounds, seconds) - kBounds.begin();
  counts_[static_cast<std::size_t>(i)].fetch_add(1, std::memory_order_relaxed);
  const double ns = std::min(seconds, 1e9) * 1e9;
  sum_ns_.fetch_add(static_cast<std::uint64_t>(ns), std::memory_order_relaxed);
}

Histogram::Values Histogram::values() const {
  Values v{};
  for (std::size_t i = 0; i < counts_.size(); ++i) v.counts[i] = counts_[i].load();
  v.sum = static_cast<double>(sum_ns_.load()) * 1e-9;
  return v;
}

void MetricsText::begin(std::string_view name, Kind kind, std::string_view help) {
  name_ = fmt::format("{}{}", prefix_, name);
  text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name_, help, name_of(kind));
}

void MetricsText::line(std::string_view suffix, const Labels& labels, double value) {
  text_ += name_;
  text_ += suffix;
  if (!labels.empty()) {
    const char* separator = "{";
    for (const auto& [name, text] : labels) {
      text_ += fmt::format("{}{}=\"{}\"", separator, name, escape(text));
      separator = ",";
    }
    text_ += '}';
  }
  const bool whole = std::abs(value) < 1e15 && value == std::floor(value);
  text_ += whole ? fmt::format(" {:.0f}\n", value) : fmt::format(" {}\n", value);
}

void MetricsText::sample(double value, const Labels& labels) {
  line("", labels, value);
}

void MetricsText::counter(std::string_view name, std::string_view help, double value) {
  begin(name, Kind::counter, help);
  sample(value);
}

void MetricsText::gauge(std::string_view name, std::string_view help, double value) {
  begin(name, Kind::gauge, help);
  sample(value);
}

void MetricsText::histogram(std::string_view name, std::string_view help,
                            const Histogram& histogram) {
  begin(name, Kind::histogram, help);
  const Histogram::Values values = histogram.values();
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < Histogram::kBounds.size(); ++i) {
    below += values.counts[i];
    line("_bucket", {{"le", fmt::format("{}", Histogram::kBounds[i])}}, static_cast<double>(below));
  }
  below += values.counts.back();
  line("_bucket", {{"le", "+Inf"}}, static_cast<double>(below));
  line("_sum", {}, values.sum);
  line("_count", {}, static_cast<double>(below));
}

}  // namespace weft::server
