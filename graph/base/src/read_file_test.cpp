#include "weft/base/read_file.h"

#include <fstream>
#include <thread>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "weft/base/error.h"

#include "support/temp_folder.h"

using namespace weft;

TEST_CASE("all bytes of a file of any length are read") {
  const test::TempFolder folder;
  const std::string path = folder / "bytes";
  for (const std::size_t n : {0, 1, 65535, 65536, 65537, 200000}) {
    CAPTURE(n);
    std::string bytes(n, '\0');
    for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<char>(i * 7 + i / 251);
    std::ofstream(path, std::ios::binary) << bytes;
    CHECK(read_file(path) == bytes);
    CHECK(read_file(path, n, SpecialFiles::refuse) == bytes);
    CHECK(try_read_file(path, n) == bytes);
    if (n == 0) continue;
    CHECK_THROWS_WITH_AS(
        read_file(path, n - 1),
        fmt::format("{}: has {} bytes, at most {} are supported", path, n, n - 1).c_str(),
        FormatError);
    CHECK_FALSE(try_read_file(path, n - 1));
  }
}

TEST_CASE("files that cannot be read are refused with path and reason") {
  const test::TempFolder folder;
  const std::string absent = folder / "absent\n";
  CHECK_THROWS_WITH_AS(
      read_file(absent),
      ((folder / "absent\\n").string() + ": cannot open: No such file or directory").c_str(),
      IoError);
  CHECK_FALSE(try_read_file(absent));
  CHECK_FALSE(try_read_file(""));
  const std::string directory = folder.path().string();
  CHECK_THROWS_WITH_AS(read_file(directory),
                       (directory + ": is a directory, expected a file").c_str(), IoError);
  CHECK_FALSE(try_read_file(directory));
}

TEST_CASE("files that claim to be empty") {
  const std::string status = read_file("/proc/self/status");
  CHECK(status.starts_with("Name:"));
  CHECK(status.ends_with("\n"));
  CHECK_THROWS_WITH_AS(read_file("/proc/self/status", 10),
                       "/proc/self/status: has more than the 10 bytes that are supported",
                       FormatError);
}

TEST_CASE("pipes and devices are read or refused as requested") {
  const test::TempFolder folder;
  const std::string path = folder / "pipe";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK_THROWS_WITH_AS(read_file(path, 100, SpecialFiles::refuse),
                       (path + ": is not a regular file").c_str(), IoError);
  std::thread writer([&] { std::ofstream(path) << std::string(100000, 'x'); });
  CHECK(read_file(path) == std::string(100000, 'x'));
  writer.join();
  CHECK(read_file("/dev/null").empty());
  CHECK_THROWS_AS(read_file("/dev/null", 100, SpecialFiles::refuse), IoError);
  CHECK_THROWS_AS(read_file("/dev/zero", 1000), FormatError);
}
