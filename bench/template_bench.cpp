// What a step of chat templates buys: the time of a step in each function that a template can call,
// on long texts and lists. A render may take 50 million steps, so the last column is the longest
// that a template can take with this function alone.
//
//   template_bench

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "weft/base/error.h"

#include "jinja/natives.h"

namespace {

using namespace weft;
using namespace weft::jinja;

constexpr std::size_t kBytes = std::size_t{1} << 20, kItems = 100'000;

struct Row {
  std::string name;
  double ns_per_step = 0;
};

// The fastest of some calls. 0: it looks at the size, ends at once or fails.
double ns_per_step(Runtime& r, const NativeRow& row, const Value& self,
                   const std::vector<Value>& arguments) {
  constexpr int kCalls = 5;
  double best = std::numeric_limits<double>::infinity();
  for (int call = 0; call < kCalls; ++call) {
    Args args{.list = arguments};
    const std::size_t before = r.heap.steps();
    const auto start = std::chrono::steady_clock::now();
    try {
      run_native(r, row, self, args);
    } catch (const Error&) {
      return 0;
    }
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
    if (taken.count() < 20'000) return 0;
    best = std::min(best, taken.count() / static_cast<double>(r.heap.steps() - before));
  }
  return best;
}

// The slowest of the calls that a function accepts.
void measure(std::string_view kind, std::span<const NativeRow> rows, const std::string& text,
             bool listed, std::vector<Row>& out) {
  for (const NativeRow& row : rows) {
    if (!row.run) continue;
    double worst = 0;
    for (int form = 0; form < 5; ++form) {
      Runtime r("", {.steps = SIZE_MAX, .memory = SIZE_MAX, .output = SIZE_MAX});
      const Value x = r.heap.text("x"), word = r.heap.text("abs"),
                  two = Value::from(std::int64_t{2});
      const Value self = listed ? Value::from(r.heap.list(std::vector<Value>(
                                      kItems, text.empty() ? two : r.heap.text(text))))
                                : r.heap.text(text);
      std::vector<Value> arguments;
      if (form == 1) arguments = {x};
      if (form == 2) arguments = {x, x};
      if (form == 3) arguments = {two};
      if (form == 4) arguments = {word};
      worst = std::max(worst, ns_per_step(r, row, self, arguments));
    }
    if (worst > 0) out.push_back({fmt::format("{} of {}", row.name, kind), worst});
  }
}

}  // namespace

int main() {
  std::vector<Row> all;
  std::string wide, marks;
  while (wide.size() < kBytes) wide += "ß", marks += "x<";
  for (const auto& [kind, text] : {std::pair("digits", std::string(kBytes, '7')),
                                   std::pair("letters", std::string(kBytes, 'x')),
                                   std::pair("spaces", std::string(kBytes, ' ')),
                                   std::pair("lines", std::string(kBytes, '\n')),
                                   std::pair("two-byte letters", wide), std::pair("marks", marks)})
    for (const auto rows : {filter_rows(), number_filter_rows(), test_rows(), string_methods()})
      measure(kind, rows, text, false, all);
  for (const auto& [kind, text] : {std::pair("numbers", ""), std::pair("words", "Word")})
    for (const auto rows : {filter_rows(), sequence_filter_rows(), test_rows()})
      measure(kind, rows, text, true, all);
  std::ranges::sort(all, std::greater(), &Row::ns_per_step);
  fmt::print("{:<36}{:>12}{:>22}\n", "function", "ns per step", "s for 50 M steps");
  for (const Row& row : all)
    fmt::print("{:<36}{:>12.1f}{:>22.2f}\n", row.name, row.ns_per_step, row.ns_per_step * 0.05);
}
