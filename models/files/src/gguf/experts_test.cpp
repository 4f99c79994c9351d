#include "gguf/experts.h"

#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/files/gguf_writer.h"
#include "weft/ops/formats/q8_0.h"

#include "support/temp_folder.h"

namespace weft {
namespace {

// A file with the matrices of experts as tensors of their own.
class OldFile {
 public:
  void add(const std::string& name, const TensorSpec& spec) {
    std::vector<std::byte>& bytes = data_.emplace_back(static_cast<std::size_t>(spec.bytes()));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::byte>(i * 7 + data_.size());
    writer_.add_tensor(name, spec, bytes);
  }
  Checkpoint open() const {
    writer_.write(path());
    return Checkpoint::open(path());
  }
  std::string error() const {
    try {
      open();
    } catch (const Error& e) {
      return std::string(e.what()).substr(path().size());
    }
    return "";
  }
  const std::vector<std::byte>& data(std::size_t i) const { return data_[i]; }

 private:
  std::string path() const { return (folder_ / "old.gguf").string(); }
  test::TempFolder folder_;
  mutable GgufWriter writer_;
  std::deque<std::vector<std::byte>> data_;
};

TEST_CASE("the matrices of experts in older files are read as one tensor") {
  OldFile old;
  old.add("blk.0.ffn_up.1.weight", {q8_0, {3, 64}});
  old.add("output.weight", {f32, {2, 2}});
  old.add("blk.0.ffn_up.0.weight", {q8_0, {3, 64}});
  const Checkpoint file = old.open();
  REQUIRE(file.tensors().size() == 2);
  const CheckpointTensor* up = file.find_tensor("blk.0.ffn_up_exps.weight");
  REQUIRE(up);
  CHECK(up->spec == TensorSpec{q8_0, {2, 3, 64}});
  CHECK(up->n_rows() == 6);
  std::vector<std::byte> rows(static_cast<std::size_t>(up->n_bytes)), expected = old.data(2);
  expected.insert(expected.end(), old.data(0).begin(), old.data(0).end());
  copy_rows(*up, 0, 6, rows.data());
  CHECK(rows == expected);
  const auto row = static_cast<std::size_t>(up->row_bytes());
  std::vector<std::byte> middle(2 * row);
  copy_rows(*up, 2, 4, middle.data());
  CHECK(std::memcmp(middle.data(), expected.data() + 2 * row, 2 * row) == 0);
  const std::vector<RowSource> sources = row_sources(*up, 2, 5);
  REQUIRE(sources.size() == 2);
  CHECK(sources[0].bytes.size() == row);
  CHECK(sources[1].bytes.size() == 2 * row);
  CHECK(std::memcmp(sources[1].bytes.data(), old.data(0).data(), 2 * row) == 0);
}

TEST_CASE("experts that are missing or differ are named") {
  OldFile gap;
  gap.add("blk.0.ffn_up.0.weight", {f32, {2, 2}});
  gap.add("blk.0.ffn_up.2.weight", {f32, {2, 2}});
  CHECK(gap.error() ==
        ": tensor 'blk.0.ffn_up.2.weight' is of expert 2, but that of expert 1 is missing");
  OldFile other;
  other.add("blk.0.ffn_up.0.weight", {f32, {2, 2}});
  other.add("blk.0.ffn_up.1.weight", {f32, {2, 3}});
  CHECK(other.error() ==
        ": tensor 'blk.0.ffn_up.1.weight' must be a matrix as that of expert 0, F32 [2, 2], got "
        "F32 [2, 3]");
  OldFile both;
  both.add("blk.0.ffn_up.0.weight", {f32, {2, 2}});
  both.add("blk.0.ffn_up_exps.weight", {f32, {1, 2, 2}});
  CHECK(both.error() == ": tensor 'blk.0.ffn_up_exps.weight' appears twice");
}

}  // namespace
}  // namespace weft
