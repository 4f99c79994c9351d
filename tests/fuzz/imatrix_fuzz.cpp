// Reads arbitrary bytes as an importance matrix, which must succeed or throw weft::Error. A matrix
// must have means for every entry, allow adding it to itself, and survive writing and reading.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "weft/base/error.h"
#include "weft/quantize/imatrix.h"

namespace {

using weft::Imatrix;

void require(bool ok) {
  if (!ok) std::abort();
}

// Calls `body`, which may throw weft::Error and nothing else.
template <class Body>
void attempt(Body body) {
  try {
    body();
  } catch (const weft::Error&) {
  }
}

void check_entry(const Imatrix& m, const std::string& name, const Imatrix::Entry& entry) {
  const auto n_experts = std::ssize(entry.counts);
  const auto means = m.importances(name, std::ssize(entry.sums) / n_experts, n_experts);
  require(means.size() == entry.sums.size());
  for (const float mean : means) require(std::isfinite(mean) && mean >= 0);
  attempt([&] { m.importances(name, 1); });
}

void round_trip(const Imatrix& m) {
  const std::vector<std::byte> bytes = m.to_bytes();
  const Imatrix again = Imatrix::parse(bytes, "again");
  require(again.entries.size() == m.entries.size() && again.datasets == m.datasets);
  for (const auto& [name, entry] : m.entries) require(again.entries.at(name).sums == entry.sums);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  attempt([&] {
    const Imatrix m = Imatrix::parse(std::as_bytes(std::span(data, size)), "input");
    for (const auto& [name, entry] : m.entries) check_entry(m, name, entry);
    Imatrix sum;
    sum.chunk_size = 512;
    attempt([&] { sum.add(m); });
    attempt([&] { sum.add(m); });
    if (m.chunk_size > 0) attempt([&] { round_trip(m); });
    if (!sum.entries.empty()) attempt([&] { round_trip(sum); });
  });
  return 0;
}
