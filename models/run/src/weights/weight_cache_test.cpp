#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/checksum.h"
#include "weft/files/identity.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/run/session.h"

#include "support/session_steps.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

namespace weft {
namespace {

using test::same_bits;
using test::tiny_model;

const SessionOptions kPacked{.workers = 2, .weights = WeightMode::resident};

std::vector<float> logits_after_40(Session& session) {
  std::vector<std::int32_t> ids(40);
  std::iota(ids.begin(), ids.end(), 3);
  session.feed(0, ids);
  return {session.logits().begin(), session.logits().end()};
}

// A session with weights from a weight cache: its logits and warnings.
struct CachedRun {
  std::vector<float> logits;
  std::vector<std::string> warnings;
  std::uint64_t contents = 0;  // the model's contents, as the session knows them
};
CachedRun run_cached(const std::shared_ptr<const Model>& model, const std::string& folder) {
  CachedRun run;
  SessionOptions options = kPacked;
  options.weight_cache = folder;
  options.warn = [&](const std::string& text) { run.warnings.push_back(text); };
  Session session(model, options);
  run.logits = logits_after_40(session);
  run.contents = model->identity().known_contents().value_or(0);
  return run;
}

std::filesystem::path only_file_in(const std::filesystem::path& folder) {
  REQUIRE(std::distance(std::filesystem::directory_iterator(folder), {}) == 1);
  return std::filesystem::directory_iterator(folder)->path();
}

TEST_CASE("a weight cache is written once, and mapped with the same bits") {
  const test::TempFolder temp;
  const std::string folder = (temp.path() / "new" / "packed").string();
  const auto model = tiny_model({.matrices = q8_0});
  const std::vector<float> expected = [&] {
    Session session(model, kPacked);
    return logits_after_40(session);
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

TEST_CASE("a weight cache that does not fit is reported, and replaced") {
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
  check("is not a weight cache");
  const auto overwrite = [&](std::int64_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file.put('\x7f').put('\x7e').put('\x7d');
  };
  overwrite(8);
  check("of another model, version or processor");
  overwrite(4096);  // a byte of the first weight
  check("its weights have checksum");
  overwrite(32);  // the contents of the model
  check("its header does not have its checksum");
}

void flip(const std::filesystem::path& path, std::int64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at);
  const int old = file.get();
  file.seekp(at);
  file.put(static_cast<char>(old ^ 0x10));
}

// Writes other contents of the model, with a valid header.
void set_contents(const std::filesystem::path& path, std::uint64_t contents) {
  std::array<std::uint64_t, 5> header{};
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.read(reinterpret_cast<char*>(header.data()), sizeof(header));
  header[4] = contents;
  const std::uint64_t sum = checksum(std::as_bytes(std::span(header)));
  file.seekp(0);
  file.write(reinterpret_cast<const char*>(header.data()), sizeof(header));
  file.write(reinterpret_cast<const char*>(&sum), sizeof(sum));
}

// A model in a file that stays, with its packed weights beside it.
struct KeptModel {
  test::TempFolder temp;
  std::string path = (temp / "model.gguf").string(), packed = (temp / "packed").string();

  CachedRun run() const { return run_cached(Model::load(path), packed); }
  std::vector<float> uncached() const {
    Session session(Model::load(path), kPacked);
    return logits_after_40(session);
  }
};

// Bytes of the file, the last ones of the file and of each tensor among them.
std::vector<std::int64_t> places_in(const std::string& path) {
  std::vector<std::int64_t> places;
  const Checkpoint file = Checkpoint::open(path);
  for (const CheckpointTensor& t : file.tensors()) {
    const auto first = static_cast<std::int64_t>(t.file_offset);
    for (const std::int64_t at : {std::int64_t{2}, t.n_bytes * 2 / 3, t.n_bytes - 2})
      places.push_back(first + at);
  }
  return places;
}

TEST_CASE("logits with a weight cache are those of the model, whichever byte of it changes") {
  const KeptModel kept;
  test::write_tiny_model({.matrices = q8_0, .sizes = {.L = 1}}, kept.path);
  kept.run();
  const auto time = std::filesystem::last_write_time(kept.path);
  for (const std::int64_t at : places_in(kept.path)) {
    CAPTURE(at);
    flip(kept.path, at);
    std::filesystem::last_write_time(kept.path, time);  // as if in the same tick of the clock
    const CachedRun run = kept.run();
    CHECK(same_bits(run.logits, kept.uncached()));
    // Vectors stay in the model file if steps read them there.
    for (const std::string& warning : run.warnings)
      CHECK_MESSAGE(warning.find("was made of other weights than") != std::string::npos, warning);
    CHECK(kept.run().warnings.empty());
  }
}

TEST_CASE(
    "logits with a weight cache are those of the model, whichever byte of the cache changes") {
  const KeptModel kept;
  test::write_tiny_model({.matrices = q8_0, .sizes = {.L = 1}}, kept.path);
  const std::vector<float> expected = kept.run().logits;
  const auto path = only_file_in(kept.packed);
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path));
  std::vector<std::int64_t> places(56);  // the header
  std::iota(places.begin(), places.end(), 0);
  for (std::int64_t at = 4096; at < size; at += size / 61) places.push_back(at);
  places.push_back(size - 1);
  for (const std::int64_t at : places) {
    CAPTURE(at);
    flip(path, at);
    // A file that was touched a moment ago has no stamp, and its weights are read.
    std::filesystem::last_write_time(kept.path, std::filesystem::file_time_type::clock::now());
    const CachedRun run = kept.run();
    CHECK(same_bits(run.logits, expected));
    CHECK(run.warnings.size() == (at >= 48 && at < 4096 ? 0 : 1));  // the stamp only saves time
    CHECK(kept.run().warnings.empty());
  }
}

TEST_CASE("a copied or touched model uses its weight cache") {
  const KeptModel kept;
  test::write_tiny_model({.matrices = q8_0}, kept.path);
  const std::vector<float> expected = kept.run().logits;
  const auto path = only_file_in(kept.packed);
  const auto written = std::filesystem::file_size(path);
  std::filesystem::copy(kept.path, kept.path + ".new");
  std::filesystem::rename(kept.path + ".new", kept.path);
  const CachedRun run = kept.run();
  CHECK(run.warnings.empty());
  CHECK(same_bits(run.logits, expected));
  CHECK(std::filesystem::file_size(path) == written);
}

TEST_CASE("the stamp of a file that was not written a moment ago says whether it changed") {
  const KeptModel kept;
  test::write_tiny_model({.matrices = q8_0, .sizes = {.L = 1}}, kept.path);
  CHECK(!Checkpoint::open(kept.path).stamp());
  std::this_thread::sleep_for(std::chrono::milliseconds(2600));
  const auto stamp = Checkpoint::open(kept.path).stamp();
  REQUIRE(stamp);
  CHECK(Checkpoint::open(kept.path).stamp() == stamp);
  kept.run();
  const auto path = only_file_in(kept.packed);
  // Nothing reads the weights if the files have their stamp: the contents are those of the cache.
  const std::uint64_t contents = Identity(Checkpoint::open(kept.path)).contents();
  CHECK(run_cached(Model::load(kept.path), kept.packed).contents == contents);
  set_contents(path, 7);
  const CachedRun trusting = kept.run();
  CHECK(trusting.warnings.empty());
  CHECK(trusting.contents == 7);
  set_contents(path, contents);
  const auto time = std::filesystem::last_write_time(kept.path);
  flip(kept.path, places_in(kept.path).back());
  std::filesystem::last_write_time(kept.path, time);
  const CachedRun run = kept.run();
  CHECK(run.warnings.size() == 1);
  CHECK(same_bits(run.logits, kept.uncached()));
}

TEST_CASE("a weight cache that cannot be written costs nothing but a warning") {
  const auto model = tiny_model({.matrices = q8_0});
  const CachedRun run = run_cached(model, "/proc/none");
  REQUIRE(run.warnings.size() == 1);
  CHECK(run.warnings[0].find("the packed weights were not kept") != std::string::npos);
  CHECK(run.logits.size() > 0);
}

}  // namespace
}  // namespace weft
