// Mapped files and their pages.
#include "weft/files/mapped_file.h"

#include <fstream>
#include <utility>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "weft/base/error.h"
#include "weft/base/opened_file.h"
#include "weft/files/output_file.h"
#include "weft/files/pages.h"

#include "support/temp_folder.h"

namespace weft {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST_CASE("a mapped file has the bytes of the file, even after its pages were released") {
  const test::TempFolder folder;
  const std::string path = (folder / "file").string();
  std::string content;
  while (content.size() < 5 * page_bytes() + 17) content += "0123456789abcdef-";
  std::ofstream(path, std::ios::binary) << content;
  MappedFile file(path);
  const CacheDropper dropper(path);
  const auto middle = file.bytes().subspan(page_bytes() + 3, page_bytes());
  for (const auto bytes : {file.bytes(), middle, file.bytes().first(0)}) {
    read_ahead(bytes);
    CHECK(prefault(bytes));
    release_pages(bytes);
    dropper.drop(0, bytes.size());
  }
  CHECK(text_of(file.bytes()) == content);
  std::filesystem::remove(path);
  CHECK(text_of(file.bytes()) == content);  // the mapping outlives the name
  MappedFile moved = std::move(file);
  CHECK(text_of(moved.bytes()) == content);
  MappedFile other;
  CHECK(other.bytes().empty());
  other = std::move(moved);
  CHECK(text_of(other.bytes()) == content);
}

TEST_CASE("pages that were cut off the file cannot be prefaulted") {
  const test::TempFolder folder;
  const std::string path = (folder / "file").string();
  std::ofstream(path, std::ios::binary) << std::string(3 * page_bytes(), 'x');
  const MappedFile file(path);
  constexpr int kPopulateRead = 22;  // MADV_POPULATE_READ, which Linux before 5.14 does not know
  if (madvise(const_cast<std::byte*>(file.bytes().data()), page_bytes(), kPopulateRead) != 0)
    return;
  std::filesystem::resize_file(path, page_bytes());
  CHECK(prefault(file.bytes().first(page_bytes())));
  CHECK_FALSE(prefault(file.bytes()));
}

TEST_CASE("with the guard, pages that were cut off read as zeros and the mapping has failed") {
  install_mapping_guard();
  const test::TempFolder folder;
  const std::string path = (folder / "file").string(), other_path = (folder / "other").string();
  for (const std::string& p : {path, other_path})
    std::ofstream(p, std::ios::binary) << std::string(4 * page_bytes() + 9, 'x');
  MappedFile file(path);
  const MappedFile other(other_path);
  const std::uint32_t n_before = n_missing_pages();
  OutputFile out((folder / "output").string());
  std::filesystem::resize_file(path, page_bytes());
  CHECK(file.was_written(path));
  CHECK_FALSE(file.was_written(other_path));
  CHECK_FALSE(file.failed());
  const MappedFile moved = std::move(file);
  CHECK(moved.bytes()[0] == std::byte{'x'});
  CHECK(moved.bytes()[2 * page_bytes()] == std::byte{});
  CHECK(moved.bytes().back() == std::byte{});
  CHECK(moved.failed());
  CHECK(n_missing_pages() == n_before + 1);
  CHECK(first_failed_mapping() == path);
  CHECK_THROWS_WITH_AS(out.commit(), doctest::Contains("output: was not written: "), IoError);
  CHECK_FALSE(other.failed());
  CHECK(other.bytes().back() == std::byte{'x'});
}

TEST_CASE("a file that was replaced by renaming was not written, one that was overwritten was") {
  const test::TempFolder folder;
  const std::string path = (folder / "file").string(), next = (folder / "next").string();
  std::ofstream(path) << "old";
  const MappedFile file(path);
  CHECK_FALSE(file.was_written(path));
  std::ofstream(next) << "newer";
  std::filesystem::rename(next, path);
  CHECK_FALSE(file.was_written(path));
  const MappedFile second(path);
  std::ofstream(path, std::ios::app) << "est";
  CHECK(second.was_written(path));
}

TEST_CASE("bytes in memory as a mapped file, and files that cannot be mapped") {
  const std::string text = "some bytes";
  CHECK(text_of(MappedFile::anonymous(std::as_bytes(std::span(text))).bytes()) == text);
  CHECK(MappedFile::anonymous({}).bytes().empty());
  const test::TempFolder folder;
  const std::string path = (folder / "empty").string();
  std::ofstream{path};
  CHECK(MappedFile(path).bytes().empty());
  CHECK_THROWS_WITH_AS(MappedFile((folder / "none").string()),
                       doctest::Contains("none: cannot open: No such file"), IoError);
  CHECK_THROWS_WITH_AS(MappedFile(folder.path().string()),
                       doctest::Contains("is a directory, expected a file"), IoError);
  CHECK_THROWS_WITH_AS(MappedFile("/dev/null"), doctest::Contains("is not a regular file"),
                       IoError);
  CacheDropper(path + "/none").drop(0, 10);  // a hint: nothing happens
}

TEST_CASE("a descriptor is mapped and stays open") {
  const test::TempFolder folder;
  const std::string path = (folder / "file").string();
  std::ofstream(path) << "abc";
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const MappedFile mapped = MappedFile::of_descriptor(file.fd, "a name");
  CHECK(text_of(mapped.bytes()) == "abc");
  CHECK(::fcntl(file.fd, F_GETFD) >= 0);
  CHECK_THROWS_WITH_AS(MappedFile::of_descriptor(-1, "a name"),
                       "a name: cannot examine: Bad file descriptor", IoError);
  const Descriptor directory(::open("/", O_RDONLY | O_CLOEXEC));
  CHECK_THROWS_WITH_AS(MappedFile::of_descriptor(directory.fd, "a name"),
                       "a name: is not a regular file", IoError);
}

}  // namespace
}  // namespace weft
