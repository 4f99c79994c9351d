#include "common/rank_flags.h"

#include "weft/base/error.h"
#include "weft/run/model_knobs.h"
#include "weft/run/ranks.h"

#include "common/knob_flags.h"
#include "common/program.h"

namespace weft::cli {

Sharding sharding_of_flag(const std::string& text) {
  try {
    return parse_sharding(text);
  } catch (const ValueError& error) {
    reject_value("--shard", error.what());
  }
}

LinkSpeed link_of_flag(const std::string& flag, const std::string& text) {
  try {
    return parse_link(text);
  } catch (const ValueError& error) {
    reject_value(flag, error.what());
  }
}

namespace {

// The flag of a described option whose text `set` reads.
template <class Set>
void add_text_flag(App& app, std::string_view option, const Set& set) {
  const KnobText& text = described<ModelOptions>(option);
  app.add_option_function(std::string(text.flags), App::Function<std::string>(set), help_text(text))
      .type_name(std::string(text.value));
}

}  // namespace

void add_shard_flags(App& app, ModelFlags& flags) {
  add_text_flag(app, "sharding",
                [&flags](const std::string& text) { flags.sharding = sharding_of_flag(text); });
  add_text_flag(app, "slow_link", [&flags](const std::string& text) {
    flags.slow_link = link_of_flag("--slow-link", text);
  });
  add_value_flag(app, described<ModelOptions>("rank_timeout"),
                 range_of<ModelOptions>("rank_timeout"), flags.rank_timeout);
}

void add_rank_flag(App& app, ModelFlags& flags) {
  add_value_flag(app, described<ModelOptions>("lone_rank"), {}, flags.rank);
}

void check_rank_flag(int rank, const Sharding& sharding) {
  if (rank < 0 || rank >= sharding.ranks())
    fail<UsageError>("--rank must be from 0 to {}, got {}", sharding.ranks() - 1, rank);
}

void use_lone_rank(ModelFlags& flags) {
  check_rank_flag(flags.rank, flags.sharding);
  if (flags.sharding.ranks() > 1) flags.lone_rank = flags.rank;
}

void check_launch(const ModelFlags& flags) {
  if (flags.sharding.ranks() == 1 && launched_ranks() > 1)
    fail<UsageError>("{} ranks were started, but the model is not divided among them: give --shard",
                     launched_ranks());
}

void refuse_launch(std::string_view program) {
  if (launched_ranks() > 1)
    fail<UsageError>("{} ranks were started, but {} works alone: start it without mpirun",
                     launched_ranks(), program);
}

}  // namespace weft::cli
