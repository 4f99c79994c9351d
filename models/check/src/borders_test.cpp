// Which inputs the checks choose.

#include "borders.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "weft/ops/cache_cells.h"

#include "support/tiny_model.h"

namespace weft::test {
namespace {

using namespace checks;

bool holds(const std::vector<BorderStep>& steps, std::int64_t at, std::int64_t n) {
  return std::ranges::any_of(steps, [&](const BorderStep& s) { return s.at == at && s.n == n; });
}

}  // namespace

TEST_CASE("borders are those of the plans, as far as tokens cross them from both sides") {
  const Session session(tiny_model(), {.context = 200, .prefill_width = 100});
  const Borders all = borders_of(session, 200);
  CHECK(all.cells == std::vector<std::int64_t>{64, 128, 192});
  CHECK(all.widths == std::vector<std::int64_t>{8, 32});  // the third one is as wide as steps get
  const Borders few = borders_of(session, 2 * kCellsPerBlock + kMargin - 1);
  CHECK(few.cells == std::vector<std::int64_t>{64});
  CHECK(borders_of(session, 32).widths == std::vector<std::int64_t>{8});
}

TEST_CASE("steps end on either side of a block's last cell and of a width class") {
  const Borders borders{.cells = {64, 128}, .widths = {8, 128}};
  const auto steps = border_steps(borders, 130, 512);
  CHECK(holds(steps, 0, 66));
  CHECK(holds(steps, 63, 1));
  CHECK(holds(steps, 64, 1));
  CHECK(holds(steps, 60, 8));
  CHECK(holds(steps, 60, 9));
  CHECK(holds(steps, 0, 128));
  CHECK(holds(steps, 0, 129));
  CHECK_FALSE(holds(border_steps(borders, 100, 512), 0, 128));  // so many tokens are not there
  for (const BorderStep& step : border_steps(borders, 130, 16)) {
    CHECK(step.n <= 16);
    CHECK(step.at + step.n >= 64);
  }
  CHECK(border_steps({}, 130, 512).empty());
}

TEST_CASE("enough tokens to cross borders, and no more than the context holds") {
  const auto model = tiny_model();
  CHECK(tokens_across_borders(*model, {}) == model->facts().context);
  CHECK(tokens_across_borders(*model, {.context = 100}) == 100);
  CHECK(tokens_across_borders(*model, {.prefill_width = 8}) == kCellsPerBlock + kMargin);
  CHECK(random_ids(*model, 70) == random_ids(*model, 70));
}

}  // namespace weft::test
