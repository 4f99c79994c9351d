// Kernels with one mistake each that only inputs of the right length show: the default inputs of
// the checks have to find it.

#include <algorithm>
#include <cstring>
#include <memory>

#include <doctest/doctest.h>

#include "weft/check/selftest.h"
#include "weft/check/verify_model.h"
#include "weft/ops/attention/cache_cells.h"

#include "bordered_model.h"
#include "seeded.h"

namespace weft::test {
namespace {

// Only if steps have several tokens, and only for those whose last cell ends a block.
void last_cell_of_a_block_left_out(const KernelArgs& args, const Region&) noexcept {
  Spoilt s(args);
  const View& last = s.own(6);
  for (std::int64_t i = 0; args.out.rows() > 1 && i < last.cols(); ++i) {
    std::int32_t& cell = last.row<std::int32_t>(0)[i];
    if ((cell + 1) % kCellsPerBlock == 0) --cell;
  }
  s.run();
}

// Likewise one token later: the first cell of the next block.
void first_cell_of_a_block_left_out(const KernelArgs& args, const Region&) noexcept {
  Spoilt s(args);
  const View& last = s.own(6);
  for (std::int64_t i = 0; args.out.rows() > 1 && i < last.cols(); ++i) {
    std::int32_t& cell = last.row<std::int32_t>(0)[i];
    if (cell > 0 && cell % kCellsPerBlock == 0) --cell;
  }
  s.run();
}

// Only if steps have several tokens: those that no longer see all positions also see the one before
// those that they should see.
void first_cell_off_by_one(const KernelArgs& args, const Region&) noexcept {
  Spoilt s(args);
  const View& first = s.own(5);
  for (std::int64_t i = 0; args.out.rows() > 1 && i < first.cols(); ++i) {
    std::int32_t& cell = first.row<std::int32_t>(0)[i];
    cell = std::max(cell - 1, 0);
  }
  s.run();
}

// A row is not kept if the next token's is not.
void checkpoint_not_kept(const KernelArgs& args, const Region&) noexcept {
  Spoilt s(args);
  const View& to = s.own(2);
  std::int32_t* rows = to.row<std::int32_t>(0);
  for (std::int64_t i = 0; i + 1 < to.cols(); ++i) rows[i] = rows[i + 1] < 0 ? -1 : rows[i];
  s.run();
}

// The last one of n tokens takes the values of the one before it.
template <std::int64_t kWrong>
void one_token_too_many(const KernelArgs& args, const Region&) noexcept {
  Spoilt s(args);
  const View& x = s.own(0);
  const std::int64_t n = x.rows();
  if (n == kWrong)
    std::memcpy(x.row<std::byte>(n - 1), x.row<std::byte>(n - 2),
                static_cast<std::size_t>(x.dtype.bytes(x.cols())));
  s.run();
}

constexpr Bug kBorderBugs[] = {
    {"last cell of a block left out by the tile path", "blk.1.attn", last_cell_of_a_block_left_out},
    {"first cell of the next block left out", "blk.0.attn", first_cell_of_a_block_left_out},
    {"one token more than a width class", "blk.1.ffn_act", one_token_too_many<9>},
    {"one token more than the kernel's tile", "blk.1.ffn_act", one_token_too_many<22>},
    {"the kernel's tile of tokens", "blk.0.ffn_residual", one_token_too_many<21>},
};
constexpr Bug kFarBorderBugs[] = {
    {"a window of one token too many", "blk.0.attn", first_cell_off_by_one},
    {"a chunk that begins one token early", "blk.1.attn", first_cell_off_by_one},
    {"a checkpoint that is not kept", "blk.2.keep_rows", checkpoint_not_kept},
    {"a far window of one token too many", "blk.3.attn", first_cell_off_by_one},
};

// Default inputs find the bug, a few tokens do not.
void check_found_at_border(const std::shared_ptr<const Model>& model, const Bug& bug) {
  CAPTURE(bug.name);
  const Seeded wrong(bug.path, bug.run, "seeded", nullptr, {21});
  SessionOptions session = seeded_session(wrong);
  session.context = 0;
  session.prefill_width = 100;
  VerifyOptions options{.session = session, .tokens = kIds, .plain = false};
  CHECK(verify_model(model, options).passed());
  options.borders = true;
  const ModelVerification result = verify_model(model, options);
  INFO(result.to_text());
  REQUIRE(result.first_bad());
  CHECK(result.first_bad()->path == bug.path);

  SelftestOptions given{.session = session, .tokens = kIds};
  CHECK(selftest(model, given).passed());
  given.tokens.clear();
  const SelfReport report = selftest(model, given);
  INFO(report.to_text());
  CHECK_FALSE(report.passed());
}

}  // namespace

TEST_CASE("default inputs cross the borders at which these mistakes are") {
  for (const Bug& bug : kBorderBugs) check_found_at_border(seeded_model(), bug);
}

TEST_CASE("default inputs cross the borders of windows, chunks and checkpoints") {
  const auto all_kinds = bordered_model();
  for (const Bug& bug : kFarBorderBugs) check_found_at_border(all_kinds, bug);
}

}  // namespace weft::test
