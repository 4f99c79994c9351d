#pragma once
// The tokens that a check runs a model on.

#include <cstdint>
#include <string>
#include <vector>

#include "common/app.h"

namespace weft {
class Model;
}

namespace weft::tools {

// -p TEXT, --tokens IDS or --random N (with --seed); by default a short text, or ids 0..7 if the
// model has no tokenizer.
struct RunTokens {
  std::string prompt = "Once upon a time", tokens;
  std::int64_t n_random = 0;
  std::uint32_t seed = 1;

  void add_flags(cli::App& app);
  std::vector<std::int32_t> of(const Model& model) const;  // throws ValueError; never empty
  bool given() const { return given_; }

 private:
  bool given_ = false, has_tokens_ = false;
};

}  // namespace weft::tools
