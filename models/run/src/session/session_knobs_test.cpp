#include "weft/run/session_knobs.h"

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/run/model_knobs.h"

#include "ranks/rank_world.h"
#include "session/option_json.h"
#include "support/described.h"

namespace weft {
namespace {

TEST_CASE("options: every member is described, once, and every face takes or declines it") {
  test::check_described<SessionOptions>();
  test::check_described<ModelOptions>();
}

// A value in the range that is not the default.
template <class M>
void change(M& value) {
  if constexpr (std::same_as<M, bool>)
    value = !value;
  else if constexpr (std::is_arithmetic_v<M>)
    value = value == 7 ? 8 : 7;
  else if constexpr (std::same_as<M, std::string>)
    value = "other \"\n";
  else if constexpr (std::same_as<M, std::vector<std::string>>)
    value = {"one", "two"};
  else if constexpr (std::same_as<M, WeightMode>)
    value = WeightMode::streamed;
  else if constexpr (std::same_as<M, DType>)
    value = q8_0;
  else if constexpr (std::same_as<M, ProgramMemory>)
    value = ProgramMemory::process;
  else if constexpr (std::same_as<M, std::optional<ReplayKind>>)
    value = ReplayKind::crew;
}

TEST_CASE("options: ranks get those that they are described to get, and no others") {
  SessionOptions sent;
  for_each_option(sent, [](const KnobText&, auto& value) { change(value); });
  SessionOptions got = run::options_of_text(run::options_text(sent));
  const SessionOptions initial;
  std::size_t n_sent = 0;
  const auto check = [&]<class M>(const auto& option, const M& value) {
    if constexpr (run::kHasJson<M>) {
      CAPTURE(option.name);
      CHECK(sent.*option.member != initial.*option.member);
      CHECK(value == (option.no_ranks.empty() ? sent : initial).*option.member);
      n_sent += option.no_ranks.empty();
    } else {
      CHECK_MESSAGE(!option.no_ranks.empty(), option.name);
    }
  };
  for_each_option(got, check);
  CHECK(n_sent == 20);
  CHECK(run::options_of_text(run::options_text({.workers = 1})).workers == 1);
}

TEST_CASE("options: as JSON, with the names of values, and without paths for strangers") {
  const SessionOptions options{
      .context = 64, .weights = WeightMode::streamed, .weight_cache = "/cache", .rewind = 3};
  const auto all = nlohmann::json::parse(to_json(options));
  CHECK(all.at("context") == 64);
  CHECK(all.at("weights") == "streamed");
  CHECK(all.at("executor") == "auto");
  CHECK(all.at("weight_cache") == "/cache");
  CHECK_FALSE(all.contains("program"));  // C has no name for it
  const auto hidden = nlohmann::json::parse(to_json(options, Paths::hidden));
  CHECK(hidden.at("rewind") == 3);
  CHECK_FALSE(hidden.contains("weight_cache"));
  CHECK_FALSE(hidden.contains("expert_usage"));
}

TEST_CASE("options: names of values are the same everywhere") {
  WeightMode mode{};
  set_by_name(mode, "weights", "streamed");
  CHECK(mode == WeightMode::streamed);
  DType type;
  set_by_name(type, "cache_k", "q8_0");
  CHECK(type == q8_0);
  CHECK(name_of_value(type) == "Q8_0");
  std::optional<ReplayKind> kind;
  set_by_name(kind, "executor", "flow");
  CHECK(kind == ReplayKind::flow);
  set_by_name(kind, "executor", "auto");
  CHECK(kind == std::nullopt);
  try {
    set_by_name(kind, "executor", "team");
    FAIL("not refused");
  } catch (const ValueError& error) {
    CHECK(error.what() == std::string("`executor` must be one of auto, flow, crew, got 'team'"));
  }
}

TEST_CASE("docs/options.md has the tables of the options of sessions and models") {
  test::check_page(
      WEFT_OPTIONS_PAGE, "sessions",
      test::table_of<SessionOptions>("Sessions") + test::table_of<ModelOptions>("Models"));
}

}  // namespace
}  // namespace weft
