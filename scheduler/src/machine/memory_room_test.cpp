// What groups and the machine leave, from made files of both versions.
#include "machine/memory_room.h"

#include <map>

#include <doctest/doctest.h>

namespace weft {
namespace {

using MadeFiles = std::map<std::string, std::string>;

MemoryRoom room_of(const MadeFiles& made, std::int64_t needed_cache = 0) {
  return cgroup::memory_room(
      [&](const std::string& path) -> std::optional<std::string> {
        const auto found = made.find(path);
        return found == made.end() ? std::nullopt : std::optional(found->second);
      },
      needed_cache);
}

const MadeFiles kSecond{
    {"/proc/self/cgroup", "0::/a/b\n"},
    {"/sys/fs/cgroup/a/b/memory.current", "900\n"},
    {"/sys/fs/cgroup/a/b/memory.max", "1000\n"},
    {"/sys/fs/cgroup/a/b/memory.high", "max\n"},
    {"/sys/fs/cgroup/a/b/memory.stat",
     "anon 600\nfile 300\nshmem 7\ninactive_file 200\n"
     "active_file 50\n"},
    {"/sys/fs/cgroup/a/b/memory.pressure", "some avg10=12.50 avg60=0.00 avg300=0.00 total=1\n"},
    {"/sys/fs/cgroup/a/memory.current", "5000\n"},
    {"/sys/fs/cgroup/a/memory.max", "max\n"},
    {"/proc/pressure/memory", "some avg10=3.00 avg60=0.00 avg300=0.00 total=1\n"},
};

}  // namespace

TEST_CASE(
    "the room of a group of version 2: its limit, less what is in use and cannot be dropped") {
  MemoryRoom room = room_of(kSecond);
  CHECK(room.bytes == 1000 - 900 + 200);
  CHECK(room.limit == 1000);
  CHECK(room.name == "memory.max of the control group");
  CHECK(room.stalled == doctest::Approx(0.125));
  CHECK(room_of(kSecond, 230).bytes == 1000 - 900 + 20);  // 50 of them are active
  CHECK(room_of(kSecond, 10'000).bytes == 1000 - 900);

  MadeFiles files = kSecond;
  files["/sys/fs/cgroup/a/b/memory.high"] = "600\n";
  room = room_of(files);
  CHECK(room.bytes == 600 - 900 + 200);
  CHECK(room.name == "memory.high of the control group");
  files["/sys/fs/cgroup/a/memory.max"] = "4000\n";  // the group around it has less
  CHECK(room_of(files).bytes == 4000 - 5000);
}

TEST_CASE("the room of a group of version 1") {
  MadeFiles files{
      {"/proc/self/cgroup", "4:memory:/x\n0::/\n"},
      {"/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "700\n"},
      {"/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1000\n"},
      {"/sys/fs/cgroup/memory/x/memory.stat",
       "inactive_file 1\nactive_file 2\ntotal_inactive_file 30\ntotal_active_file 40\n"},
      {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"},
      {"/sys/fs/cgroup/memory/memory.usage_in_bytes", "800\n"},
      {"/proc/pressure/memory", "some avg10=3.00 avg60=0.00 avg300=0.00 total=1\n"},
  };
  const MemoryRoom room = room_of(files);
  CHECK(room.bytes == 1000 - 700 + 30);
  CHECK(room.name == "memory.limit_in_bytes of the control group");
  CHECK(room.stalled == doctest::Approx(0.03));
}

TEST_CASE("without a limit the machine's memory counts, and without anything nothing does") {
  CHECK(room_of({}).bytes == std::numeric_limits<std::int64_t>::max());
  CHECK(room_of({}).stalled == 0);
  const MadeFiles files{
      {"/proc/meminfo", "MemTotal:  1000 kB\nMemAvailable: 400 kB\nCached:  300 kB\n"}};
  CHECK(room_of(files).bytes == 400 * 1024);
  CHECK(room_of(files).limit == 1000 * 1024);
  CHECK(room_of(files).name == "the machine's memory");
  CHECK(room_of(files, 100 * 1024).bytes == 300 * 1024);
  CHECK(room_of(files, 900 * 1024).bytes == 100 * 1024);
  CHECK(memory_room().bytes > 0);  // this machine
}

TEST_CASE("files with other contents limit nothing") {
  for (const char* text : {"", "x", "-5", "99999999999999999999", "\n\n", "max"}) {
    CAPTURE(text);
    MadeFiles files = kSecond;
    files["/sys/fs/cgroup/a/b/memory.max"] = text;
    CHECK(room_of(files).bytes == std::numeric_limits<std::int64_t>::max());
    files = kSecond;
    files["/sys/fs/cgroup/a/b/memory.current"] = text;
    CHECK(room_of(files).bytes == std::numeric_limits<std::int64_t>::max());
    files = kSecond;
    files["/sys/fs/cgroup/a/b/memory.stat"] = text;
    files["/sys/fs/cgroup/a/b/memory.pressure"] = text;
    files["/proc/pressure/memory"] = text;
    CHECK(room_of(files).bytes == 100);
    CHECK(room_of(files).stalled == 0);
  }
}

}  // namespace weft
