// Every flag that an option is described with exists.
#include <set>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "weft/run/model_knobs.h"
#include "weft/serve/speculation_knobs.h"

#include "common/draft_flags.h"
#include "common/flags.h"
#include "common/rank_flags.h"

namespace weft::cli {
namespace {

// Programs leave some of them out.
struct AllFlags {
  App app{"", "test"};
  ModelFlags model;
  DraftFlags drafts;

  AllFlags() {
    add_model_flags(app, model);
    add_expert_usage_flag(app, model);
    add_cells_flag(app, model.session);
    add_rank_flag(app, model);
    add_draft_flags(app, drafts);
  }

  bool has(const std::string& flag) const {
    try {
      app.get_option(flag);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }
};

std::vector<std::string> names_in(std::string_view flags) {
  std::vector<std::string> names;
  while (!flags.empty()) {
    const std::size_t comma = std::min(flags.find(','), flags.size());
    std::string name(flags.substr(0, comma));
    if (name.starts_with('!')) name.erase(0, 1);  // the flag that sets no
    names.push_back(name);
    flags.remove_prefix(std::min(comma + 1, flags.size()));
  }
  return names;
}

template <class T>
std::size_t check_flags(const AllFlags& all) {
  std::size_t n = 0;
  const T initial;
  for_each_option(initial, [&](const KnobText& text, const auto&) {
    for (const std::string& name : names_in(text.flags)) {
      CHECK_MESSAGE(all.has(name), name);
      ++n;
    }
  });
  return n;
}

TEST_CASE("options that are described with flags have them") {
  const AllFlags all;
  CHECK(check_flags<SessionOptions>(all) >= 13);
  CHECK(check_flags<ModelOptions>(all) >= 9);
  CHECK(check_flags<SpeculationOptions>(all) >= 9);
  CHECK_FALSE(all.has("--no-such-flag"));
}

}  // namespace
}  // namespace weft::cli
