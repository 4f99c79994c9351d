#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"
#include "weft/files/gguf_types.h"
#include "weft/ops/formats/format.h"

#include "gguf/sample.h"
#include "support/temp_folder.h"

namespace weft {
namespace {

using Bytes = std::vector<std::byte>;

// Hand-made files that the writer would refuse to write.
struct Raw {
  std::string text;
  template <class T>
  Raw& put(T value) {
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Raw& u32(std::uint32_t v) { return put(v); }
  Raw& u64(std::uint64_t v) { return put(v); }
  Raw& string(std::string_view s) {
    u64(s.size()).text += s;
    return *this;
  }
  Raw& header(std::uint64_t tensors, std::uint64_t entries, std::uint32_t version = 3) {
    text += "GGUF";
    return u32(version).u64(tensors).u64(entries);
  }
  // Name, dimensions (fastest first), type, offset.
  Raw& tensor(std::string_view name, std::vector<std::uint64_t> dims, std::uint32_t type,
              std::uint64_t offset) {
    string(name).u32(static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t d : dims) u64(d);
    return u32(type).u64(offset);
  }
  Raw& data(std::size_t bytes) {
    text.resize((text.size() + 31) / 32 * 32 + bytes);
    return *this;
  }
};

Checkpoint parse(const Raw& raw) {
  return Checkpoint::parse(std::as_bytes(std::span(raw.text)), "f");
}

std::string refusal(const Raw& raw) {
  try {
    parse(raw);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST_CASE("headers of other formats are identified in the message") {
  CHECK(refusal(Raw{}) == "f: at byte 0: header: the file is empty, expected a GGUF header");
  CHECK(refusal(Raw{"GG"}) ==
        "f: at byte 0: header: magic: expected 1 x 4 bytes, but 2 are left of the 2 bytes of the "
        "file");
  CHECK(refusal(Raw{"PK\x03\x04...."}) ==
        "f: at byte 4: header: magic must be 'GGUF', got 'PK\\x03\\x04'");
  CHECK(refusal(Raw{"tjgg"}) ==
        "f: at byte 4: header: magic must be 'GGUF', got 'tjgg' (a GGML file from before GGUF; "
        "convert the original model again)");
  CHECK(refusal(Raw{}.header(0, 0, 0)) == "f: at byte 8: header: version must be 2 or 3, got 0");
  CHECK_THROWS_AS(parse(Raw{}.header(0, 0, 1)), UnsupportedError);
  CHECK_THROWS_AS(parse(Raw{}.header(0, 0, 4)), UnsupportedError);
  CHECK(refusal(Raw{}.header(0, 0, 0x03000000)) ==
        "f: at byte 8: header: the file is big-endian (version 3), expected little-endian");
  CHECK(refusal(Raw{}.header(0, 0)) == "accepted");
}

TEST_CASE("counts and lengths are checked against the file size") {
  CHECK(refusal(Raw{}.header(0, 5)) ==
        "f: at byte 24: metadata count: entries: expected 5 x 13 bytes, but 0 are left of the 24 "
        "bytes of the file");
  CHECK(refusal(Raw{}.header(UINT64_MAX, 0)) ==
        "f: at byte 24: tensor count: tensors: expected 18446744073709551615 x 24 bytes, but 0 are "
        "left of the 24 bytes of "
        "the file");
  CHECK(refusal(Raw{}.header(0, 1).u64(UINT64_MAX).data(64)) ==
        "f: at byte 32: metadata: key must be at most 65535 bytes long, got 18446744073709551615");
  CHECK(refusal(Raw{}.header(0, 1).string("k").u32(13).data(64)) ==
        "f: at byte 37: key 'k': value type must be one of 0 to 12, got 13");
  CHECK(refusal(Raw{}.header(0, 1).string("k").u32(9).u32(8).u64(1000)) ==
        "f: at byte 49: key 'k': array elements: expected 1000 x 8 bytes, but 0 are left of the 49 "
        "bytes of the file");
  CHECK(refusal(Raw{}.header(0, 2).string("k\n").u32(0).put('a').string("k\n").u32(0).put('a')) ==
        "f: key 'k\\n' appears twice");
}

TEST_CASE("nested arrays are limited in depth, and decoded arrays in size") {
  Raw deep = Raw{}.header(0, 1).string("k").u32(9);
  for (int i = 0; i < 100000; ++i) deep.u32(9).u64(1);
  deep.u32(0).u64(0);
  CHECK(refusal(deep).ends_with("key 'k': arrays are nested more than 4 deep"));
  Raw wide = Raw{}.header(0, 1).string("k").u32(9).u32(0).u64(std::uint64_t{1} << 26);
  wide.text.resize(wide.text.size() + (std::size_t{1} << 26));
  CHECK(refusal(wide).ends_with(
      "the header would take more than 256 MiB of memory (67108864 elements more)"));
}

TEST_CASE("impossible tensor tables are rejected") {
  const auto one = [](std::vector<std::uint64_t> dims, std::uint32_t type, std::uint64_t offset) {
    return refusal(Raw{}.header(1, 0).tensor("t", std::move(dims), type, offset).data(128));
  };
  CHECK(one({32}, 0, 0) == "accepted");
  CHECK(
      one({1, 1, 1, 1, 1}, 0, 0).ends_with("tensor 't': a tensor has at most 4 dimensions, got 5"));
  CHECK(one({0}, 0, 0).ends_with("tensor 't': dimension 0 must be 1 to 2^63 - 1, got 0"));
  CHECK(one({1, UINT64_MAX}, 0, 0)
            .ends_with("dimension 1 must be 1 to 2^63 - 1, got 18446744073709551615"));
  CHECK(one({1ull << 32, 1ull << 32}, 0, 0)
            .ends_with("tensor 't': the product of the dimensions exceeds 2^63 - 1"));
  CHECK(one({1ull << 62}, 0, 0)
            .ends_with("F32 [4611686018427387904] takes more than 2^63 - 1 bytes"));
  CHECK(
      one({31}, 8, 0).ends_with("tensor 't': rows of 31 elements are not whole Q8_0 blocks of 32"));
  CHECK(one({16, 2}, 8, 0)
            .ends_with("tensor 't': rows of 16 elements are not whole Q8_0 blocks of 32"));
  CHECK(one({32}, 200, 0).ends_with("tensor 't': unknown type 200"));
  CHECK(
      one({32}, 4, 0)
          .ends_with(
              "tensor 't': type Q4_2 (4) was removed from GGUF; convert the original model again"));
  CHECK(one({1}, 0, 33)
            .ends_with("tensor 't': offset must be a multiple of the alignment 32, got 33"));
  CHECK(one({32}, 0, 32) ==
        "f: tensor 't' needs 128 bytes at offset 32 of the data section, which has 128 bytes (is "
        "the file truncated?)");
  CHECK(one({1}, 0, UINT64_MAX - 31).ends_with("which has 128 bytes (is the file truncated?)"));
  const auto two = [](const char* second, std::uint64_t offset) {
    return refusal(
        Raw{}.header(2, 0).tensor("a", {9}, 0, 0).tensor(second, {1}, 0, offset).data(128));
  };
  CHECK(two("b", 64) == "accepted");
  CHECK(two("b", 32) == "f: tensors 'a' (bytes 96 to 132) and 'b' (from byte 128) overlap");
  CHECK(two("a", 64) == "f: tensor 'a' appears twice");
}

TEST_CASE("a tensor without dimensions is one element") {
  const Raw raw = Raw{}.header(1, 0).tensor("t", {}, 0, 0).data(4);
  CHECK(to_string(parse(raw).tensors()[0].spec) == "F32 [1]");
}

TEST_CASE("block sizes agree with the formats that have a codec") {
  for (const Format* format : all_formats()) {
    if (format->dtype.gguf_id() < 0) continue;
    CHECK(gguf::find_type(static_cast<std::uint32_t>(format->dtype.gguf_id())) == format->dtype);
  }
  CHECK(gguf::find_type(26) == i32);
  CHECK(is_supported(i32));
  CHECK(is_supported(gguf::find_type(27)));
  CHECK_FALSE(gguf::find_type(200).valid());
}

TEST_CASE("typed reads report the expected and the actual type") {
  const Bytes bytes = test::sample_writer().to_bytes();
  const Checkpoint file = Checkpoint::parse(bytes, "f");
  const auto message = [&](auto read) -> std::string {
    try {
      read();
    } catch (const FormatError& error) {
      return error.what();
    }
    return "accepted";
  };
  CHECK(message([&] { file.find_uint("f32"); }) ==
        "f: key 'f32' must be an unsigned integer, got f32");
  CHECK(message([&] { file.find_uint("i32"); }) ==
        "f: key 'i32' must be an unsigned integer, got -5");
  CHECK(message([&] { file.find_int("u64"); }) ==
        "f: key 'u64' must be an integer below 2^63, got 18446744073709551615");
  CHECK(message([&] { file.find_float("bool"); }) == "f: key 'bool' must be a number, got bool");
  CHECK(message([&] { file.find_bool("u8"); }) == "f: key 'u8' must be a bool, got u8");
  CHECK(message([&] { file.find_string("u8"); }) == "f: key 'u8' must be a string, got u8");
  CHECK(message([&] { file.find_strings("general.architecture"); }) ==
        "f: key 'general.architecture' must be an array of strings, got string");
  CHECK(message([&] { file.find_floats("u8s"); }) ==
        "f: key 'u8s' must be an array of floats, got an array of u8");
  CHECK(message([&] { file.find_ints("f32s"); }) ==
        "f: key 'f32s' must be an array of integers, got an array of f32");
  CHECK(message([&] { file.find_bools("nested"); }) ==
        "f: key 'nested' must be an array of bools, got an array of array");
  CHECK(file.find_float("u8") == 255);
}

TEST_CASE("foreign text is escaped") {
  CHECK(printable("plain \xc3\xa9 \xe6\x97\xa5") == "plain \xc3\xa9 \xe6\x97\xa5");
  CHECK(printable("a\nb\t\\\x1b[31m\x7f") == "a\\nb\\t\\\\\\x1b[31m\\x7f");
  CHECK(printable("\xff\xc0\x80\xed\xa0\x80") == "\\xff\\xc0\\x80\\xed\\xa0\\x80");
  CHECK(printable("\xe2\x80\xae") == "\\u202e");
  CHECK(printable("abcdef", 4) == "abcd...");
  CHECK(printable("abc\xc3\xa9", 4) == "abc...");
}

TEST_CASE("a path that is not a file is an IoError that says so") {
  const test::TempFolder dir;
  const std::string fifo = dir / "fifo", absent = dir / "absent", empty = dir / "empty";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  std::ofstream(empty).flush();
  CHECK_THROWS_WITH_AS(
      Checkpoint::open(dir.path()),
      (dir.path().string() +
       ": a directory with neither 'model.safetensors' nor 'model.safetensors.index.json'")
          .c_str(),
      IoError);
  CHECK_THROWS_WITH_AS(Checkpoint::open(fifo), (fifo + ": is not a regular file").c_str(), IoError);
  CHECK_THROWS_WITH_AS(Checkpoint::open(absent),
                       (absent + ": cannot open: No such file or directory").c_str(), IoError);
  CHECK_THROWS_WITH_AS(
      Checkpoint::open(empty),
      (empty + ": at byte 0: header: the file is empty, expected a GGUF header").c_str(),
      FormatError);
}

// Reads everything that a file offers, so that a sanitizer detects pointers to the outside.
std::size_t touch(const Checkpoint& file) {
  std::size_t sum = 0;
  for (const MetaEntry& entry : file.metadata()) {
    sum += printable(entry.key).size();
    if (const auto strings = std::get_if<std::shared_ptr<const MetaArray>>(&entry.value.value))
      sum += (*strings)->size();
  }
  for (const CheckpointTensor& t : file.tensors()) {
    for (std::int64_t i = 0; i < t.n_bytes; ++i) sum += std::to_integer<std::size_t>(t.data[i]);
  }
  return sum;
}

TEST_CASE("every field of a valid file, set to extremes, gives success or an error") {
  const Bytes valid = test::sample_writer().to_bytes();
  int accepted = 0, refused = 0;
  const auto attempt = [&](const Bytes& bytes) {
    try {
      touch(Checkpoint::parse(bytes, "f"));
      ++accepted;
    } catch (const Error&) {
      ++refused;
    }
  };
  const auto mutate = [&]<class T>(T) {
    for (std::size_t at = 0; at + sizeof(T) <= valid.size(); ++at) {
      T old;
      std::memcpy(&old, valid.data() + at, sizeof(T));
      const T top = static_cast<T>(T{1} << (8 * sizeof(T) - 1));
      for (const T value :
           {T{0}, T{1}, static_cast<T>(old + 1), static_cast<T>(old - 1), top,
            static_cast<T>(top - 1), static_cast<T>(~T{0}), static_cast<T>(~T{0} - 31)}) {
        Bytes bytes = valid;
        std::memcpy(bytes.data() + at, &value, sizeof(T));
        attempt(bytes);
      }
    }
  };
  mutate(std::uint8_t{});
  mutate(std::uint32_t{});
  mutate(std::uint64_t{});
  for (std::size_t n = 0; n < valid.size(); ++n)
    attempt(Bytes(valid.begin(), valid.begin() + static_cast<std::ptrdiff_t>(n)));
  CHECK(accepted > 0);
  CHECK(refused > 0);
}

}  // namespace
}  // namespace weft
