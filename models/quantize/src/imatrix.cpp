#include "weft/quantize/imatrix.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"

#include "imatrix_limits.h"

namespace weft {
namespace {

using namespace quantize;

std::string place(const Imatrix& m) {
  return m.source.empty() ? "the importance matrix" : printable_path(m.source);
}

// The sum of `entry` and `other`, whose counts and sums are multiplied by `scale`.
Imatrix::Entry sum(const Imatrix::Entry& entry, const Imatrix::Entry& other, std::int64_t scale,
                   const Imatrix& from, std::string_view name) {
  if (entry.sums.size() != other.sums.size()) {
    fail<ValueError>("{}: '{}' has {} values, expected {}: is it of another model?", place(from),
                     printable(name), other.sums.size(), entry.sums.size());
  }
  const std::size_t n = std::max(entry.counts.size(), other.counts.size());
  if (n % entry.counts.size() != 0 || n % other.counts.size() != 0 || entry.sums.size() % n != 0) {
    fail<ValueError>("{}: '{}' has {} counts, expected {}: is it of another model?", place(from),
                     printable(name), other.counts.size(), entry.counts.size());
  }
  Imatrix::Entry result = entry;
  result.counts.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    // One count is for all experts.
    result.counts[i] =
        entry.counts[i % entry.counts.size()] + scale * other.counts[i % other.counts.size()];
    if (static_cast<double>(result.counts[i]) > kMaxCount)
      fail<ValueError>("{}: '{}' counts too many rows to add", place(from), printable(name));
  }
  for (std::size_t i = 0; i < result.sums.size(); ++i) {
    const double total = static_cast<double>(entry.sums[i]) +
                         static_cast<double>(scale) * static_cast<double>(other.sums[i]);
    if (total > kMaxSum)
      fail<ValueError>("{}: '{}' has too large sums to add", place(from), printable(name));
    result.sums[i] = static_cast<float>(total);
  }
  return result;
}

}  // namespace

std::vector<float> Imatrix::importances(std::string_view name, std::int64_t n_cols,
                                        std::int64_t n_experts) const {
  const auto found = entries.find(name);
  if (found == entries.end()) return {};
  const auto& [sums, counts] = found->second;
  const std::int64_t n_counts = std::ssize(counts);
  if (std::ssize(sums) != n_cols * n_experts || (n_counts != 1 && n_counts != n_experts)) {
    fail<ValueError>(
        "{}: '{}' has {} values and {} counts, expected {} columns x {} experts: is it of another "
        "model?",
        place(*this), printable(name), sums.size(), n_counts, n_cols, n_experts);
  }
  std::vector<float> means(sums.size(), 1.0f);
  const std::size_t per_count = sums.size() / counts.size();
  for (std::size_t i = 0; i < means.size(); ++i) {
    const std::int64_t count = counts[i / per_count];
    if (count > 0) means[i] = sums[i] / static_cast<float>(count);
  }
  return means;
}

void Imatrix::add(const Imatrix& other) {
  if (chunk_size == 0 && other.chunk_size != 0 && !entries.empty()) {
    fail<ValueError>("{}: counts calls of unknown size, {} cannot be added to it", place(*this),
                     place(other));
  }
  const std::int64_t scale = other.chunk_size == 0 ? std::max<std::int64_t>(chunk_size, 1) : 1;
  auto result = entries;
  for (const auto& [name, entry] : other.entries) {
    Entry& mine = result[name];
    if (mine.sums.empty()) mine = {.sums = std::vector<float>(entry.sums.size()), .counts = {0}};
    mine = sum(mine, entry, scale, other, name);
  }
  entries = std::move(result);
  datasets.insert(datasets.end(), other.datasets.begin(), other.datasets.end());
  if (chunk_size == 0) chunk_size = other.chunk_size;
  chunk_count = std::min(chunk_count + other.chunk_count, kMaxChunks);
}

}  // namespace weft
