#include "gguf/split.h"

#include <filesystem>

#include <doctest/doctest.h>

#include "weft/base/error.h"

#include "gguf/sample.h"
#include "support/temp_folder.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

struct Parts {
  test::TempFolder dir;

  std::string path(int part) const { return dir / fmt::format("m-{:05d}-of-00002.gguf", part + 1); }
  void write(int part, std::uint32_t number, const char* tensor, std::int32_t tensors = 2) const {
    GgufWriter writer;
    writer.add("split.no", {MetaType::uint16, std::uint64_t{number}});
    writer.add("split.count", {MetaType::uint16, std::uint64_t{2}});
    writer.add_i32("split.tensors.count", tensors);
    writer.add_tensor(tensor, {f32, {2}}, std::span(test::kSampleData).first(8));
    writer.write(path(part));
  }
  std::string refusal(const std::string& file) const {
    try {
      Checkpoint::open(file);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }
};

TEST_CASE("the parts of a split model read as one") {
  const Parts parts;
  parts.write(0, 0, "a");
  parts.write(1, 1, "b");
  const Checkpoint file = Checkpoint::open(parts.path(0));
  REQUIRE(file.tensors().size() == 2);
  CHECK(file.find_tensor("b")->part == 1);
  CHECK(file.part_paths()[1] == parts.path(1));
  CHECK(file.file_bytes() ==
        static_cast<std::int64_t>(fs::file_size(parts.path(0)) + fs::file_size(parts.path(1))));
}

TEST_CASE("split models that do not fit together are rejected") {
  const Parts parts;
  parts.write(0, 0, "a");
  CHECK(parts.refusal(parts.path(0)) == parts.path(1) + ": cannot open: No such file or directory");
  parts.write(1, 1, "b");
  CHECK(parts.refusal(parts.path(1)) ==
        parts.path(1) + ": part 2 of 2; give the first part, " + parts.path(0));
  parts.write(1, 0, "b");
  CHECK(parts.refusal(parts.path(0)) ==
        parts.path(1) + ": key 'split.no' must be 1 in part 2 of 2, got 0");
  parts.write(1, 1, "a");
  CHECK(parts.refusal(parts.path(0)) == parts.path(1) + ": tensor 'a' is also in " + parts.path(0) +
                                            ": these are not parts of one model");
  parts.write(1, 1, "b");
  parts.write(0, 0, "a", 3);
  CHECK(parts.refusal(parts.path(0)) ==
        parts.path(1) + ": key 'split.tensors.count' must be 3 in part 2 of 2, got 2");
  parts.write(1, 1, "b", 3);
  CHECK(parts.refusal(parts.path(0)) ==
        parts.path(0) + ": key 'split.tensors.count' says 3, but the 2 parts have 2 tensors");
  const std::string renamed = parts.dir / "renamed.gguf";
  fs::rename(parts.path(0), renamed);
  CHECK(parts.refusal(renamed) == renamed +
                                      ": part 1 of 2, but its name does not end in "
                                      "'-00001-of-00002.gguf', so the other parts cannot be found");
}

}  // namespace
}  // namespace weft
