#include "weft/files/gguf_writer.h"

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/files/checkpoint.h"
#include "weft/files/output_file.h"
#include "weft/ops/formats/q8a.h"

#include "gguf/sample.h"
#include "support/npy.h"
#include "support/temp_folder.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

std::ptrdiff_t files_in(const test::TempFolder& folder) {
  return std::distance(fs::directory_iterator(folder.path()), {});
}

TEST_CASE("metadata of every type is read back as written") {
  const std::vector<std::byte> bytes = test::sample_writer().to_bytes();
  const Checkpoint file = Checkpoint::parse(bytes, "sample");
  CHECK(file.version() == 3);
  CHECK(file.alignment() == 32);
  CHECK(file.file_bytes() == static_cast<std::int64_t>(bytes.size()));
  CHECK(file.metadata().size() == 18);
  CHECK(file.metadata()[0].key == "general.architecture");
  CHECK(file.find_string("general.architecture") == "llama");
  CHECK(file.find_uint("u8") == 255);
  CHECK(file.find_int("i8") == -128);
  CHECK(file.find_uint("u16") == 65535);
  CHECK(file.find_int("i16") == -32768);
  CHECK(file.find_uint("u32") == 4294967295);
  CHECK(file.find_int("i32") == -5);
  CHECK(file.find_float("f32") == 1.5);
  CHECK(file.find_bool("bool") == true);
  CHECK(file.find_uint("u64") == UINT64_MAX);
  CHECK(file.find_int("i64") == INT64_MIN);
  CHECK(file.find_float("f64") == 0.1);
  CHECK(file.find_strings("strings") == std::vector<std::string_view>{"a", "", "\xff\n"});
  CHECK(file.find_bools("bools") == std::vector<bool>{true, false});
  CHECK(file.find_ints("i32s") == std::vector<std::int64_t>{1, -2});
  CHECK(file.find_ints("u8s") == std::vector<std::int64_t>{1, 2, 3});
  CHECK(file.find_floats("f32s") == std::vector<float>{0.5f});
  const auto& nested = *std::get<std::shared_ptr<const MetaArray>>(file.find("nested")->value);
  CHECK(nested.element == MetaType::array);
  CHECK(nested.size() == 2);
  CHECK(to_string(file.find_tensor("norm")->spec) == "F32 [3]");
  CHECK(to_string(file.find_tensor("matrix")->spec) == "Q8_0 [2, 32]");
  CHECK(to_string(file.find_tensor("cube")->spec) == "F16 [2, 3, 1, 4]");
  CHECK(file.find_tensor("cube")->n_bytes == 48);
  CHECK(file.find_tensor("cub") == nullptr);
  CHECK(file.find("absent") == nullptr);
}

TEST_CASE("metadata copied from a file gives the same file") {
  const std::vector<std::byte> bytes = test::sample_writer().to_bytes();
  const Checkpoint file = Checkpoint::parse(bytes, "sample");
  GgufWriter copy;
  for (const MetaEntry& entry : file.metadata()) copy.add(entry.key, entry.value);
  for (const CheckpointTensor& t : file.tensors()) {
    copy.add_tensor(std::string(t.name), t.spec,
                    std::span(t.data, static_cast<std::size_t>(t.n_bytes)));
  }
  CHECK(copy.to_bytes() == bytes);
}

TEST_CASE("other alignments are recorded and kept") {
  GgufWriter writer(4096);
  writer.add_tensor("a", {f32, {3}}, std::span(test::kSampleData).first(12));
  writer.add_tensor("b", {f32, {3}}, std::span(test::kSampleData).first(12));
  const std::vector<std::byte> bytes = writer.to_bytes();
  const Checkpoint file = Checkpoint::parse(bytes, "aligned");
  CHECK(file.alignment() == 4096);
  CHECK(file.find_tensor("a")->file_offset == 4096);
  CHECK(file.find_tensor("b")->file_offset == 8192);
  CHECK_THROWS_AS(GgufWriter(24), ValueError);
  CHECK_THROWS_AS(GgufWriter(4), ValueError);
}

TEST_CASE("misuse is rejected") {
  GgufWriter writer;
  writer.add_u32("k", 1);
  CHECK_THROWS_WITH_AS(writer.add_u32("k", 2), "key 'k' already exists", ValueError);
  CHECK_THROWS_WITH_AS(writer.add("n", {MetaType::uint8, std::uint64_t{256}}),
                       "256 does not fit u8", ValueError);
  CHECK_THROWS_AS(writer.add("n", {MetaType::uint8, 1.0}), ValueError);
  CHECK_THROWS_AS(writer.add_tensor("t", {q8_0, {2, 31}}, std::span<const std::byte>()),
                  ShapeError);
  CHECK_THROWS_AS(writer.add_tensor("t", {f32, {0}}, std::span<const std::byte>()), ShapeError);
  CHECK_THROWS_AS(writer.add_tensor(std::string(65, 't'), {f32, {1}}, std::span<const std::byte>()),
                  ValueError);
  CHECK_THROWS_WITH_AS(writer.add_u32("", 1), "a key cannot be empty", ValueError);
  CHECK_THROWS_AS(writer.add_u32(std::string(65536, 'k'), 1), ValueError);
  CHECK_THROWS_WITH_AS(writer.add_u32("general.alignment", 64),
                       "key 'general.alignment' already exists", ValueError);
  CHECK_THROWS_AS(writer.add("n", {MetaType::array, std::shared_ptr<const MetaArray>()}),
                  ValueError);
  const auto nothing = std::span<const std::byte>();
  CHECK_THROWS_AS(writer.add_tensor("", {f32, {1}}, nothing), ValueError);
  CHECK_THROWS_AS(writer.add_tensor("t", {q8a, {32}}, nothing), DTypeError);
  CHECK_THROWS_AS(writer.add_tensor("t", {f32, {Dim(4, 0)}}, nothing), ShapeError);
  CHECK_THROWS_AS(writer.add_tensor("t", {f32, {Dim(4, 0), 2}}, nothing), ShapeError);
  CHECK_THROWS_AS(writer.add_tensor("t", {f32, {std::int64_t{1} << 62}}, nothing), ShapeError);
  writer.add_tensor("t", {f32, {2}}, std::span(test::kSampleData).first(4));
  CHECK_THROWS_WITH_AS(writer.add_tensor("t", {f32, {2}}, nothing), "tensor 't' already exists",
                       ValueError);
  CHECK_THROWS_WITH_AS(writer.to_bytes(), "tensor 't' must have 8 bytes, got 4", ValueError);
}

TEST_CASE("a file appears only when it is complete, and failures leave no files") {
  const test::TempFolder folder;
  const std::string path = folder / "m.gguf";
  test::sample_writer().write(path);
  CHECK(files_in(folder) == 1);
  CHECK(test::read_bytes(path) == test::sample_writer().to_bytes());
  CHECK(Checkpoint::open(path).tensors().size() == 3);

  GgufWriter broken;
  broken.add_tensor("t", {f32, {1}},
                    [](const GgufWriter::Put&) { throw std::runtime_error("no data"); });
  CHECK_THROWS_WITH(broken.write(path), "no data");
  CHECK(files_in(folder) == 1);
  CHECK(test::read_bytes(path) == test::sample_writer().to_bytes());

  CHECK_THROWS_AS(test::sample_writer().write(folder / "absent" / "m.gguf"), IoError);
  CHECK_THROWS_AS(test::sample_writer().write(folder.path()), IoError);
}

TEST_CASE("a full disk is an IoError") {
  if (!fs::exists("/dev/full")) return;
  CHECK_THROWS_WITH_AS(test::sample_writer().write("/dev/full"),
                       "/dev/full: cannot write: No space left on device", IoError);
}

}  // namespace
}  // namespace weft
