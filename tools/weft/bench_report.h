#pragma once
// How `weft bench` tells what it measured: a table for people, JSON for programs.

#include <string>
#include <vector>

#include "bench/limits.h"
#include "bench_rows.h"

namespace weft::tools {

// What the machine can do with that many threads.
struct Limits {
  int threads = 0;
  bench::ReadLimit reads;
  bench::ArithmeticLimit int8, f32;
};
// Leaves reads out where `most_bytes` of memory is too little for them.
Limits measure_limits(int threads, std::int64_t most_bytes);

struct Report {
  std::string model, backend;
  std::int64_t batch = 0, memory = 0;
  std::uint64_t logits_hash = 0;
  std::vector<Row> rows;
  std::vector<Limits> limits;  // one for each number of workers; empty: not measured
};

std::string to_text(const Report& report);
std::string to_text(const std::vector<Limits>& limits);
std::string to_json(const Report& report);

}  // namespace weft::tools
