#include "weft/files/rank_file.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/files/gguf_writer.h"
#include "weft/files/weft_keys.h"
#include "weft/ops/formats/q8_0.h"

#include "support/error_text.h"
#include "support/temp_folder.h"

namespace weft {
namespace {

using test::text_of;

constexpr std::int64_t kRows = 4, kCols = 32;
const std::vector<std::byte> kData(8192);

std::span<const std::byte> bytes_of(DType type, std::int64_t elems) {
  return std::span(kData).first(static_cast<std::size_t>(type.bytes(elems)));
}

MetaValue numbers(std::vector<std::int64_t> values) {
  return {MetaType::array,
          std::make_shared<const MetaArray>(MetaArray{MetaType::int64, std::move(values)})};
}

MetaValue texts(std::vector<std::string_view> values) {
  return {MetaType::array,
          std::make_shared<const MetaArray>(MetaArray{MetaType::string, std::move(values)})};
}

MetaValue text(std::string_view value) {
  return {MetaType::string, value};
}

MetaValue number(std::uint64_t value) {
  return {MetaType::uint64, value};
}

// The file of rank 1 of 2 of a model with a matrix and a norm: the last rows of the matrix.
class SplitMatrix {
 public:
  SplitMatrix() {
    GgufWriter writer;
    writer.add_string("general.architecture", "llama");
    writer.add_tensor("matrix", {q8_0, {kRows, kCols}}, bytes_of(q8_0, kRows * kCols));
    writer.add_tensor("norm", {f32, {3}}, bytes_of(f32, 3));
    const std::string whole = folder_ / "whole.gguf";
    writer.write(whole);
    write_rank_file(Checkpoint::open(whole), std::span(&kPart, 1),
                    {.sharding = "tp=2", .min_elems = 7, .rank = 1, .ranks = 2, .sample = 5},
                    path());
  }
  std::string path() const { return folder_ / "rank-1-of-2.gguf"; }
  Checkpoint open() const { return Checkpoint::open(path(), {.rank_files = true}); }

  // With another value of a key; none: without the key.
  Checkpoint with(std::string_view key, const std::optional<MetaValue>& value) const {
    return edited([&](GgufWriter& writer, const MetaEntry& entry) {
      if (entry.key != key) return writer.add(entry.key, entry.value);
      if (value) writer.add(entry.key, *value);
    });
  }
  // With a part of another type.
  Checkpoint with_part(const TensorSpec& spec) const {
    return edited(
        [](GgufWriter& writer, const MetaEntry& entry) { writer.add(entry.key, entry.value); },
        spec);
  }

  static inline const TensorPart kPart{
      .name = "matrix[2:4]", .source = "matrix", .cuts = {{.axis = 0, .ranges = {{2, 4}}}}};

 private:
  template <class Add>
  Checkpoint edited(const Add& add, const TensorSpec& spec = {q8_0, {2, kCols}}) const {
    GgufWriter writer;
    const Checkpoint file = open();
    for (const MetaEntry& entry : file.metadata()) add(writer, entry);
    writer.add_tensor("part.0", spec, bytes_of(spec.dtype, spec.shape.elems()));
    const std::string out = folder_ / "edited.gguf";
    writer.write(out);
    return Checkpoint::open(out, {.rank_files = true});
  }

  test::TempFolder folder_;
};

// What is wrong with a file, up to its path.
std::string refusal(const Checkpoint& file) {
  const std::string message = text_of([&] {
    if (!rank_file_facts(file)) return;
    model_of_rank_file(file).with_parts(std::span(&SplitMatrix::kPart, 1));
  });
  const std::string prefix = file.path() + ": ";
  return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
}

TEST_CASE("the file of a rank presents the model, and has its parts") {
  const SplitMatrix split;
  const auto facts = rank_file_facts(split.open());
  REQUIRE(facts);
  CHECK(facts->sharding == "tp=2");
  CHECK(facts->min_elems == 7);
  CHECK(facts->rank == 1);
  CHECK(facts->ranks == 2);
  CHECK(facts->sample == 5);
  const Checkpoint model = model_of_rank_file(split.open());
  REQUIRE(model.tensors().size() == 2);
  CHECK(model.find_tensor("matrix")->absent);
  CHECK(model.find_tensor("matrix")->spec == TensorSpec{q8_0, {kRows, kCols}});
  CHECK(model.find_tensor("norm")->spec == TensorSpec{f32, {3}});
  const Checkpoint own = model.with_parts(std::span(&SplitMatrix::kPart, 1));
  CHECK(own.find_tensor("matrix[2:4]")->spec == TensorSpec{q8_0, {2, kCols}});
  const TensorPart other{.name = "norm", .source = "norm"};
  CHECK_THROWS_WITH_AS(model.with_parts(std::span(&other, 1)),
                       (split.path() + ": has no part 'norm'").c_str(), FormatError);
}

struct Edit {
  std::string_view key;
  std::optional<MetaValue> value;
  std::string message;
};

std::vector<Edit> edits_of_facts() {
  return {
      {kSplitShardingKey, number(2), "key 'weft.split.sharding' must be a string, got u64"},
      {kSplitMinElemsKey, {}, "key 'weft.split.min_elems' is missing"},
      {kSplitMinElemsKey, number(UINT64_MAX),
       "key 'weft.split.min_elems' must be at most 9223372036854775807, got 18446744073709551615"},
      {kSplitRankKey, text("1"), "key 'weft.split.rank' must be an unsigned integer, got string"},
      {kSplitRankKey, number(2), "key 'weft.split.rank' must be at most 1, got 2"},
      {kSplitRanksKey, number(0), "key 'weft.split.ranks' must be at least 1"},
      {kSplitRanksKey, number(1ull << 40),
       "key 'weft.split.ranks' must be at most 65536, got 1099511627776"},
      {kSplitSampleKey, {}, "key 'weft.split.sample' is missing"},
  };
}

std::vector<Edit> edits_of_lists() {
  return {
      {kSplitPartsKey, {}, "key 'weft.split.parts' is missing"},
      {kSplitPartsKey, number(1), "key 'weft.split.parts' must be"},
      {kSplitPartsKey, texts({}), "key 'weft.split.parts' must have 1 elements, got 0"},
      {kSplitPartsKey, texts({"a", "b"}), "key 'weft.split.parts' must have 1 elements, got 2"},
      {kSplitPartsKey, texts({"other"}), "has no part 'matrix[2:4]'"},
      {kSplitTensorsKey, {}, "key 'weft.split.tensors' is missing"},
      {kSplitTensorsKey, texts({"matrix"}), "key 'weft.split.types' must have 1 elements, got 2"},
      {kSplitTensorsKey, texts({"norm", "norm"}), "tensor 'norm' appears twice"},
      {kSplitTypesKey, texts({"Q8_0", "F32"}), "key 'weft.split.types' must be"},
      {kSplitTypesKey, numbers({8}), "key 'weft.split.types' must have 2 elements, got 1"},
      {kSplitTypesKey, numbers({-1, 0}), "the listed tensor 'matrix' has the unknown type -1"},
      {kSplitTypesKey, numbers({INT64_MAX, 0}), "has the unknown type 9223372036854775807"},
      {kSplitTypesKey, numbers({0, 0}), "part 'matrix[2:4]' is Q8_0, but its tensor is F32"},
  };
}

std::vector<Edit> edits_of_shapes() {
  const auto of = [](std::vector<std::int64_t> matrix) {
    matrix.insert(matrix.end(), {3, 0, 0, 0});
    return numbers(std::move(matrix));
  };
  const std::int64_t much = std::int64_t{1} << 62;
  return {
      {kSplitShapesKey, numbers({4, 32}), "key 'weft.split.shapes' must have 8 elements, got 2"},
      {kSplitShapesKey, of({0, 0, 0, 0}), "has the dimensions 0, 0, 0, 0"},
      {kSplitShapesKey, of({4, 0, 32, 0}), "has the dimensions 4, 0, 32, 0"},
      {kSplitShapesKey, of({-4, 32, 0, 0}), "has the dimensions -4, 32, 0, 0"},
      {kSplitShapesKey, of({4, 31, 0, 0}), "cannot be [4, 31] of Q8_0"},
      {kSplitShapesKey, of({much, much, 0, 0}), "has a wrong shape"},
      {kSplitShapesKey, of({much, 32, 0, 0}), "has a wrong shape"},
      {kSplitShapesKey, of({3, 32, 0, 0}), "range 2..4 of axis 0 must not be empty"},
  };
}

TEST_CASE("files of ranks with wrong keys are refused by name") {
  const SplitMatrix split;
  CHECK(refusal(split.open()) == "no error");
  for (const auto& edits : {edits_of_facts(), edits_of_lists(), edits_of_shapes()}) {
    for (const Edit& edit : edits) {
      CAPTURE(edit.key);
      CAPTURE(edit.message);
      const std::string message = refusal(split.with(edit.key, edit.value));
      CAPTURE(message);
      CHECK(message.find(edit.message) != std::string::npos);
    }
  }
  CHECK(refusal(split.with_part({f32, {2, kCols}})) ==
        "part 'matrix[2:4]' is F32, but its tensor is Q8_0");
  CHECK(refusal(split.with_part({q8_0, {4, kCols}})) ==
        "part 'matrix[2:4]' must be [2, 32], got [4, 32]");
}

TEST_CASE("files of ranks are found in their folder only") {
  const SplitMatrix split;
  const std::string folder = std::filesystem::path(split.path()).parent_path();
  CHECK(rank_files_in(folder) == std::vector<std::string>{"rank-1-of-2.gguf"});
  CHECK(rank_files_in(split.path()).empty());
  CHECK(rank_files_in(folder + "/absent").empty());
}

}  // namespace
}  // namespace weft
