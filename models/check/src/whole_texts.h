#pragma once
// Checks of models that read a text as a whole (encoders): their tokens see later ones, so that
// there is nothing to divide into steps.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/run/session.h"

namespace weft::checks {

class WholeTexts {
 public:
  // `options` must allow steps of all tokens. REQUIRES: at least 3 tokens.
  WholeTexts(std::shared_ptr<const Model> model, SessionOptions options,
             std::vector<std::int32_t> tokens)
      : model_(std::move(model)), options_(std::move(options)), tokens_(std::move(tokens)) {}

  // Names and checks, in order, for run_check() (sanity.h). REQUIRES: this outlives them.
  std::vector<std::pair<std::string, std::function<std::string()>>> checks() const;

 private:
  std::vector<float> alone(const SessionOptions& options) const;
  std::string repeated() const;
  std::string batched() const;
  std::string workers() const;

  std::shared_ptr<const Model> model_;
  SessionOptions options_;
  std::vector<std::int32_t> tokens_;
};

}  // namespace weft::checks
