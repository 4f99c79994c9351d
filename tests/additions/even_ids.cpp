#include "even_ids.h"

#include <algorithm>

namespace weft::stages {
namespace {

class EvenIdsStage final : public StageOf<EvenIdsStage> {
 public:
  std::string_view name() const override { return "even_ids"; }
  void apply(Candidates& candidates, Random&) override {
    const auto is_odd = [](const Candidate& c) { return c.id % 2 != 0; };
    if (!std::ranges::all_of(candidates.items, is_odd)) std::erase_if(candidates.items, is_odd);
  }
};

}  // namespace

StagePtr make(const EvenIds&) {
  return std::make_unique<EvenIdsStage>();
}

}  // namespace weft::stages
