#include "weft/run/split_model.h"

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/files/gguf_writer.h"
#include "weft/files/rank_file.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/run/session.h"

#include "support/error_text.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

namespace weft {
namespace {

using test::text_of;

std::vector<float> split_logits(const std::string& path, const Sharding& sharding) {
  Session session(Model::load(path, {.sharding = sharding}), {.context = 64, .workers = 1});
  const std::vector<std::int32_t> prompt{3, 1, 4, 1, 5, 9, 2, 6};
  session.feed(0, prompt);
  const StepToken step{.token = 7, .logits = true};
  const auto row = session.step({&step, 1});
  return {row.begin(), row.end()};
}

// A model, and the files of the ranks of a sharding.
struct SplitModel {
  explicit SplitModel(const test::TinyModel& about, const Sharding& sharding) {
    test::write_tiny_model(about, whole);
    const auto model = Model::load(whole);
    for (int rank = 0; rank < sharding.ranks(); ++rank)
      write_part_of_rank(*model, sharding, rank, file(rank, sharding));
  }
  std::string file(int rank, const Sharding& sharding) const {
    return (parts.path() / rank_file_name(rank, sharding.ranks())).string();
  }

  test::TempFolder folder, parts;
  std::string whole = (folder.path() / "whole.gguf").string();
};

TEST_CASE("files of ranks give the bits of the whole file") {
  for (const char* arch : {"llama", "gemma2", "phi3"}) {
    for (const Sharding& sharding : {Sharding{.tp = 2, .min_elems = 0}, Sharding{.pp = 2},
                                     Sharding{.tp = 2, .pp = 2, .min_elems = 0}}) {
      CAPTURE(arch);
      CAPTURE(to_string(sharding));
      const SplitModel split({.arch = arch, .matrices = q8_0, .optional_tensors = true}, sharding);
      const auto want = split_logits(split.whole, sharding);
      CHECK(split_logits(split.parts.path(), sharding) == want);
      CHECK(split_logits(split.file(0, sharding), sharding) == want);
    }
  }
}

TEST_CASE("a file has about the part of its rank, and nothing in it is copied") {
  const Sharding sharding{.tp = 2, .min_elems = 0};
  const SplitModel split({.sizes = {.L = 8}}, sharding);
  const auto bytes = [](const std::string& path) {
    return static_cast<double>(std::filesystem::file_size(path));
  };
  for (const int rank : {0, 1})
    CHECK(bytes(split.file(rank, sharding)) < 0.65 * bytes(split.whole));
  const auto model = Model::load(split.parts.path(), {.sharding = sharding, .lone_rank = 1});
  for (const CheckpointTensor& tensor : model->weights().tensors()) CHECK(tensor.runs.empty());
}

TEST_CASE("files of other ranks, shardings and models are refused by name") {
  const Sharding two{.tp = 2, .min_elems = 0};
  const SplitModel split({}, two);
  const auto refusal = [&](const std::string& path, const ModelOptions& options) {
    return text_of([&] { Model::load(path, options); });
  };
  const std::string first = split.file(0, two), folder = split.parts.path();
  const std::string has = first + ": the part of rank 0 of a model divided by tp=2";
  CHECK(refusal(first, {}) == has + "; give --shard tp=2, or the whole model");
  CHECK(refusal(folder, {}) == has + "; give --shard tp=2, or the whole model");
  CHECK(refusal(first, {.sharding = {.pp = 2}}) == has + ", expected pp=2");
  CHECK(refusal(first, {.sharding = {.tp = 2}}) ==
        has + " from 0 elements of a projection on, expected 16384");

  const std::string second = split.file(1, two), renamed = folder + "/other.gguf";
  std::filesystem::rename(second, renamed);
  CHECK(refusal(folder, {.sharding = two, .lone_rank = 1}) ==
        folder +
            ": has no rank-1-of-2.gguf, which rank 1 of tp=2 needs, only "
            "rank-0-of-2.gguf");
  CHECK(refusal(folder, {.sharding = two}).find("has no rank-1-of-2.gguf") != std::string::npos);
  CHECK(refusal(renamed, {.sharding = two}) ==
        renamed + ": the part of rank 1 of tp=2, expected that of rank 0");

  const SplitModel other({.sizes = {.L = 4}}, two);
  std::filesystem::copy(other.file(1, two), second);
  CHECK(refusal(folder, {.sharding = two}).find("rank 1 has build") != std::string::npos);
}

TEST_CASE("a file says of which rank it is") {
  const Sharding sharding{.pp = 2};
  const SplitModel split({}, sharding);
  const Checkpoint own = Checkpoint::open(split.file(1, sharding), {.rank_files = true});
  const auto facts = rank_file_facts(own);
  REQUIRE(facts);
  CHECK(facts->rank == 1);
  CHECK(facts->sharding == "pp=2");
  CHECK_FALSE(rank_file_facts(Checkpoint::open(split.whole)));
}

TEST_CASE("the file of a rank opens only for callers that ask for rank files") {
  const Sharding sharding{.tp = 2, .min_elems = 0};
  const SplitModel split({}, sharding);
  const std::string first = split.file(0, sharding);
  const std::string message = first +
                              ": a part of a model that is divided among ranks (weft split-for), "
                              "expected a whole model";
  for (const std::string& path : {first, split.parts.path().string()}) {
    CHECK_THROWS_WITH_AS(Checkpoint::open(path), message.c_str(), FormatError);
    CHECK_NOTHROW(Checkpoint::open(path, {.rank_files = true}));
    CHECK_THROWS_WITH_AS(Model::load(split.whole, {.draft_file = path}), message.c_str(),
                         FormatError);
    CHECK_THROWS_WITH_AS(Model::load(split.whole, {.adapters = {.loras = {{path}}}}),
                         message.c_str(), FormatError);
  }
}

TEST_CASE("a model that is divided already is not split") {
  const Sharding sharding{.tp = 2, .min_elems = 0};
  const SplitModel split({}, sharding);
  const std::string out = (split.folder.path() / "out.gguf").string();
  for (const std::string& path : {split.whole, split.parts.path().string()}) {
    const auto model = Model::load(path, {.sharding = sharding});
    CHECK_THROWS_WITH_AS(write_part_of_rank(*model, sharding, 0, out),
                         (model->file().path() +
                          ": files of ranks are made of the whole model: load it without ranks")
                             .c_str(),
                         UnsupportedError);
  }
  CHECK_FALSE(std::filesystem::exists(out));
}

TEST_CASE("a part of another shape is refused") {
  const Sharding sharding{.tp = 2, .min_elems = 0};
  const SplitModel split({}, sharding);
  const std::string path = split.file(0, sharding);
  const Checkpoint file = Checkpoint::open(path, {.rank_files = true});
  GgufWriter writer;
  for (const MetaEntry& entry : file.metadata()) writer.add(entry.key, entry.value);
  for (const CheckpointTensor& part : file.tensors()) {
    TensorSpec spec = part.spec;
    if (part.name == "part.3") spec.shape = Shape({1, part.spec.shape.elems()});
    writer.add_tensor(std::string(part.name), spec,
                      {part.data, static_cast<std::size_t>(part.n_bytes)});
  }
  const std::string edited = (split.folder.path() / "edited.gguf").string();
  writer.write(edited);
  CHECK(text_of([&] {
          Model::load(edited, {.sharding = sharding, .lone_rank = 0});
        }).find("' must be [") != std::string::npos);
}

TEST_CASE("models that cannot be divided have no files of ranks") {
  test::TempFolder folder;
  const std::string path = (folder.path() / "rank.gguf").string();
  CHECK_THROWS_AS(write_part_of_rank(*test::tiny_model(), {.tp = 3}, 0, path), ValueError);
  CHECK_THROWS_AS(write_part_of_rank(*test::tiny_model({.arch = "t5"}), {.pp = 2}, 0, path),
                  UnsupportedError);
  CHECK_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace weft
