// Files of snapshots: what was written is read, and nothing else is.
#include "weft/run/snapshot_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "weft/base/error.h"
#include "weft/files/mapped_file.h"
#include "weft/files/pages.h"

#include "support/file_bytes.h"
#include "support/temp_folder.h"

namespace weft {
namespace {

struct Made {
  Made() : contents(96) {
    std::iota(reinterpret_cast<unsigned char*>(contents.data()),
              reinterpret_cast<unsigned char*>(contents.data()) + contents.size(), 1);
    const std::span<const std::byte> bytes(contents);
    snapshot.states = {{{64, {}, 16, 64, 1}, bytes.first(64)},
                       {{32, {70, 75}, 16, 0, 0}, bytes.subspan(64)}};
  }

  std::vector<std::byte> contents;
  SnapshotLabel label{.origin = {1, 2, 3, 4}, .key = 5, .parent = 6, .before = 7, .owner = "me\n1"};
  Snapshot snapshot{.begin = 70, .tokens = {9, 8, 7, 6, 5}, .states = {}};
};

void write_bytes(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
}

// Pages of the file in the system's page cache.
std::int64_t cached_pages(const std::string& path) {
  const MappedFile file(path);
  const std::size_t n = (file.bytes().size() + page_bytes() - 1) / page_bytes();
  std::vector<unsigned char> pages(n);
  REQUIRE(::mincore(const_cast<std::byte*>(file.bytes().data()), file.bytes().size(),
                    pages.data()) == 0);
  return std::ranges::count_if(pages, [](unsigned char page) { return (page & 1) != 0; });
}

}  // namespace

TEST_CASE("a snapshot comes back from its file, which only its owner can read") {
  const test::TempFolder folder;
  const std::string path = folder / "s";
  const Made made;
  write_snapshot(path, made.label, made.snapshot);
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  const SnapshotFile file = SnapshotFile::open(path);
  file.check_contents();
  CHECK(file.n_bytes() == info.st_size);
  CHECK(file.label().origin.computation == 4);
  CHECK(file.label().key == 5);
  CHECK(file.label().parent == 6);
  CHECK(file.label().before == 7);
  CHECK(file.label().owner == "me\n1");
  CHECK(file.snapshot().begin == 70);
  CHECK(file.snapshot().tokens == made.snapshot.tokens);
  REQUIRE(file.snapshot().states.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto &read = file.snapshot().states[i], &wrote = made.snapshot.states[i];
    CHECK(read.shape.row_bytes == 16);
    CHECK(read.shape.tokens_per_row == wrote.shape.tokens_per_row);
    CHECK(read.shape.first_row == wrote.shape.first_row);
    CHECK(read.shape.lengths == wrote.shape.lengths);
    CHECK(std::ranges::equal(read.bytes, wrote.bytes));
  }
}

TEST_CASE("opening a snapshot reads its header, not its contents") {
  const test::TempFolder folder;
  const std::string path = folder / "s";
  Made made;
  made.contents.resize(std::size_t{8} << 20);
  made.snapshot.states = {{{8 << 20, {}, 1 << 20, 64, 1}, made.contents}};
  write_snapshot(path, made.label, made.snapshot);
  CacheDropper(path).drop(0, std::uint64_t{1} << 62);
  if (cached_pages(path) > 0) return;  // the file system has its files in memory
  const SnapshotFile file = SnapshotFile::open(path);
  CHECK(cached_pages(path) <= 2);
  file.check_contents();
  CHECK(cached_pages(path) > (8 << 20) / static_cast<std::int64_t>(page_bytes()));
}

TEST_CASE("a snapshot with any bit flipped, cut anywhere or longer is refused") {
  const test::TempFolder folder;
  const std::string path = folder / "s";
  const Made made;
  write_snapshot(path, made.label, made.snapshot);
  const std::vector<std::byte> good = test::file_bytes(path);
  const auto is_refused = [](std::span<const std::byte> bytes) {
    try {
      SnapshotFile::parse(bytes, "F").check_contents();
      return false;
    } catch (const FormatError&) {
      return true;
    } catch (const UnsupportedError&) {
      return true;
    }
  };
  CHECK_FALSE(is_refused(good));
  for (std::size_t i = 0; i < good.size(); ++i) {
    CAPTURE(i);
    std::vector<std::byte> bad = good;
    bad[i] ^= std::byte{1};
    CHECK(is_refused(bad));
    CHECK(is_refused(std::span(good).first(i)));
  }
  std::vector<std::byte> longer = good;
  longer.push_back({});
  CHECK(is_refused(longer));
}

TEST_CASE("links are neither read nor written through") {
  const test::TempFolder folder;
  const std::string path = folder / "s", other = folder / "other";
  const Made made;
  write_snapshot(other, made.label, made.snapshot);
  const std::vector<std::byte> before = test::file_bytes(other);
  std::filesystem::create_symlink(other, path);
  CHECK_THROWS_WITH_AS(SnapshotFile::open(path), (path + ": not a regular file").c_str(), IoError);
  Made second;
  second.label.key = 55;
  write_snapshot(path, second.label, second.snapshot);
  CHECK(test::file_bytes(other) == before);
  CHECK(SnapshotFile::open(path).label().key == 55);
  CHECK_THROWS_AS(SnapshotFile::open(folder / "missing"), IoError);
  write_bytes(other, {});
  CHECK_THROWS_AS(SnapshotFile::open(other), FormatError);
}

}  // namespace weft
