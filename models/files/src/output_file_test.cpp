#include "weft/files/output_file.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "support/temp_folder.h"

namespace weft {
namespace {

unsigned mode_of(const std::string& path) {
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return info.st_mode & 0777U;
}

void write(const std::string& path, Readers readers) {
  OutputFile file(path, readers);
  file.write("text");
  file.commit();
}

struct Umask {
  explicit Umask(mode_t mask) : before(::umask(mask)) {}
  ~Umask() { ::umask(before); }
  mode_t before;
};

TEST_CASE("a file for its owner alone is private from the start") {
  const Umask umask(0022);
  const test::TempFolder folder;
  const std::string path = (folder / "file").string();
  write(path, Readers::owner);
  CHECK(mode_of(path) == 0600);
  write((folder / "other").string(), Readers::anyone);
  CHECK(mode_of((folder / "other").string()) == 0644);
}

TEST_CASE("a file that is replaced does not become readable for more people") {
  const Umask umask(0022);
  const test::TempFolder folder;
  const std::string path = (folder / "file").string();
  std::ofstream(path) << "old";
  for (const unsigned mode : {0600U, 0640U, 0644U}) {
    std::filesystem::permissions(path, std::filesystem::perms(mode));
    write(path, Readers::anyone);
    CHECK(mode_of(path) == mode);
  }
  write(path, Readers::owner);
  CHECK(mode_of(path) == 0600);
}

}  // namespace
}  // namespace weft
