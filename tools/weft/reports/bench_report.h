#pragma once
// The output of `weft bench`: a table, or JSON.

#include <string>
#include <vector>

#include "commands/limits.h"
#include "reports/bench_rows.h"

namespace weft::tools {

struct Report {
  std::string model, architecture, backend;
  std::int64_t batch = 0, memory = 0;
  std::uint64_t logits_hash = 0;
  std::vector<Row> rows;
  std::vector<MachineLimits> limits;  // one for each number of workers; empty: not measured
};

std::string to_text(const Report& report);
std::string to_json(const Report& report);

}  // namespace weft::tools
