#include "weft/base/folders.h"

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

TEST_CASE("folders that Weft makes are for their owner alone") {
  const test::TempFolder folder;
  const mode_t before = ::umask(0022);
  std::error_code error;
  const std::string path = (folder / "a/b").string();
  make_private_folders(path, error);
  CHECK_FALSE(error);
  CHECK(mode_of(path) == 0700);
  CHECK(mode_of((folder / "a").string()) == 0700);

  SUBCASE("existing ones stay as they are") {
    std::filesystem::permissions(path, std::filesystem::perms(0755));
    make_private_folders(path, error);
    CHECK_FALSE(error);
    CHECK(mode_of(path) == 0755);
  }
  SUBCASE("a file in the way is an error") {
    std::ofstream(folder / "file").put('x');
    make_private_folders((folder / "file/c").string(), error);
    CHECK(error);
  }
  ::umask(before);
}

}  // namespace
}  // namespace weft
