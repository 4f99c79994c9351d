#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "weft/ops/formats/q8_0.h"
#include "weft/run/session.h"

#include "support/session_steps.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

namespace weft {
namespace {

using test::same_bits;
using test::tiny_model;

const SessionOptions kResident{.workers = 2, .weights = WeightMode::resident};

std::vector<float> logits_of(Session& session) {
  std::vector<std::int32_t> ids(40);
  std::iota(ids.begin(), ids.end(), 3);
  session.feed(0, ids);
  return {session.logits().begin(), session.logits().end()};
}

// A session with weights from a panel cache: its logits, and what it warned about.
struct CachedRun {
  std::vector<float> logits;
  std::vector<std::string> warnings;
};
CachedRun run_cached(const std::shared_ptr<const Model>& model, const std::string& folder) {
  CachedRun run;
  SessionOptions options = kResident;
  options.panel_cache = folder;
  options.warn = [&](const std::string& text) { run.warnings.push_back(text); };
  Session session(model, options);
  run.logits = logits_of(session);
  return run;
}

std::filesystem::path only_file_in(const std::filesystem::path& folder) {
  REQUIRE(std::distance(std::filesystem::directory_iterator(folder), {}) == 1);
  return std::filesystem::directory_iterator(folder)->path();
}

TEST_CASE("a panel cache is written once, and mapped with the same bits") {
  const test::TempFolder temp;
  const std::string folder = (temp.path() / "new" / "panels").string();
  const auto model = tiny_model({.matrices = q8_0});
  const std::vector<float> expected = [&] {
    Session session(model, kResident);
    return logits_of(session);
  }();
  const CachedRun first = run_cached(model, folder);
  CHECK(first.warnings.empty());
  CHECK(same_bits(first.logits, expected));
  const auto path = only_file_in(folder);
  const auto written = std::filesystem::last_write_time(path);
  const CachedRun second = run_cached(model, folder);
  CHECK(second.warnings.empty());
  CHECK(same_bits(second.logits, expected));
  CHECK(std::filesystem::last_write_time(path) == written);
}

TEST_CASE("a panel cache that does not fit is reported, and replaced") {
  const test::TempFolder temp;
  const std::string folder = temp.path().string();
  const auto model = tiny_model({.matrices = q8_0});
  const CachedRun first = run_cached(model, folder);
  const auto path = only_file_in(folder);
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path));
  const auto check = [&](std::string_view problem) {
    const CachedRun run = run_cached(model, folder);
    REQUIRE(run.warnings.size() == 1);
    CHECK_MESSAGE(run.warnings[0].find(problem) != std::string::npos, run.warnings[0]);
    CHECK(same_bits(run.logits, first.logits));
    CHECK(run_cached(model, folder).warnings.empty());
  };
  std::filesystem::resize_file(path, static_cast<std::uintmax_t>(size - 1));
  check("bytes, got");
  std::filesystem::resize_file(path, 100);
  check("is not a panel cache");
  const auto overwrite = [&](std::int64_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file.put('\x7f').put('\x7e').put('\x7d');
  };
  overwrite(8);
  check("of another model, version or processor");
  overwrite(4096);  // of the first weight's first rows
  check("has other values of");
}

TEST_CASE("a panel cache that cannot be written costs nothing but a warning") {
  const auto model = tiny_model({.matrices = q8_0});
  const CachedRun run = run_cached(model, "/proc/none");
  REQUIRE(run.warnings.size() == 1);
  CHECK(run.warnings[0].find("the panels were not kept") != std::string::npos);
  CHECK(run.logits.size() > 0);
}

}  // namespace
}  // namespace weft
