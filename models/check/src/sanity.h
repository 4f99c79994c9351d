#pragma once
// Parts of the selftest.

#include "weft/check/selftest.h"

namespace weft::checks {

// Runs f, which returns the detail or throws; Failed fails the check, Skipped skips it.
struct Failed {
  std::string why;
};
struct Skipped {
  std::string why;
};
SelfCheck run_check(const std::string& name, const std::function<std::string()>& f);

// Throw Failed; return a description of the check.
std::string check_tensors(const Model& model);
std::string check_round_trip(const Model& model);
// Opens its own session. REQUIRES: no other session holds the same resident weights.
std::string check_memory(const std::shared_ptr<const Model>& model, const SessionOptions& options,
                         const std::vector<std::int32_t>& tokens);

}  // namespace weft::checks
