// Headers of safetensors files, right and wrong.

#include "safetensors/header.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"

#include "safetensors/tiny_directory.h"

using namespace weft;
using safetensors::parse_header;
using safetensors::StoredTensor;
using test::stored_file;

namespace {

std::vector<StoredTensor> parse(const std::string& bytes) {
  return parse_header(std::as_bytes(std::span(bytes)), "f");
}

std::string error(const std::string& bytes) {
  try {
    parse(bytes);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

// The message for a file of one tensor "x" with that entry, and four bytes of data.
std::string error_of(const std::string& entry) {
  return error(stored_file(R"({"x":)" + entry + "}  ", "1234"));
}

}  // namespace

TEST_CASE("a header gives its tensors in the order of their data") {
  const std::string header = R"({"b":)" + entry("F32", "[2,1]", "[0,8]") + R"(,"none":)" +
                             entry("F16", "[3,0]", "[8,8]") + R"(,"a":)" +
                             entry("BF16", "[3]", "[8,14]") + R"(,"scalar":)" +
                             entry("I16", "[]", "[14,16]") + R"(,"__metadata__":{"format":"pt"}})";
  const std::string padded = header + std::string(8 - header.size() % 8, ' ');
  const auto tensors = parse(stored_file(padded, std::string(16, 'x')));
  REQUIRE(tensors.size() == 4);
  const std::uint64_t begin = 8 + padded.size();
  CHECK(tensors[0].name == "b");
  CHECK(tensors[0].type == f32);
  CHECK(tensors[0].shape == std::vector<std::int64_t>{2, 1});
  CHECK(tensors[0].offset == begin);
  CHECK(tensors[1].name == "none");
  CHECK(tensors[1].n_bytes == 0);
  CHECK(tensors[2].type == bf16);
  CHECK(tensors[2].offset == begin + 8);
  CHECK(tensors[3].shape.empty());
  CHECK_FALSE(tensors[3].type.valid());  // known to the format, not computed with
  CHECK(tensors[3].type_name == "I16");
}

TEST_CASE("invalid headers are rejected with the numbers") {
  CHECK(error("") == "f: has 0 bytes, a safetensors file has at least 8");
  CHECK(error("1234567") == "f: has 7 bytes, a safetensors file has at least 8");
  CHECK(error(stored_file("{}", "", 3)) ==
        "f: the header has 3 bytes according to its length field, at most 100000000 are allowed "
        "and 2 exist");
  CHECK(error(stored_file("{}", "", UINT64_MAX - 1))
            .find("the header has 18446744073709551614 bytes") != std::string::npos);
  CHECK(error(stored_file(" {}")) == "f: the header must start with '{', got ' {}'");
  CHECK(error(stored_file("{\"x\": ")).find("f: not JSON: ") == 0);
  CHECK(error(stored_file("{} x")).find("f: not JSON: ") == 0);
  CHECK(error(stored_file("{\"\xff\": 1}")).find("f: not JSON: ") == 0);
  CHECK(error(stored_file("{}", "1")) == "f: tensors end after 0 bytes of data, but there are 1");
  CHECK(error(stored_file("{}")).empty());
  CHECK(error(stored_file(R"({"__metadata__":{"a":1}})")) ==
        "f: '__metadata__.a' must be a string, got 1");
  CHECK(error(stored_file(R"({"__metadata__":[]})")) ==
        "f: '__metadata__' must be an object, got array");
  const std::string x = entry("F16", "[2]", "[0,4]");
  CHECK(error(stored_file(R"({"x":)" + x + R"(,"x":)" + x + "}", "1234")) ==
        "f: key 'x' appears twice");
}

TEST_CASE("texts that would need far more memory than their length are rejected") {
  std::string deep = "{\"x\": ";
  deep += std::string(9 << 20, '[');
  CHECK(error(stored_file(deep)) == "f: has more than 8388608 values");
  // Not too many, but deeper than messages that quote a value can be written.
  deep = "{\"x\": " + std::string(1 << 20, '[') + std::string(1 << 20, ']') + "}";
  CHECK(error(stored_file(deep)) == "f: nested more than 64 deep");
  const std::string nested = std::string(60, '[') + "\"[[[[[[\\\"[\"" + std::string(60, ']');
  CHECK(error(stored_file("{\"x\": " + nested + "}")) ==
        "f: tensor 'x': must be an object, got array");
}

TEST_CASE("malformed entries are rejected by name") {
  CHECK(error_of("3") == "f: tensor 'x': must be an object, got number");
  CHECK(error_of("{}") == "f: tensor 'x': 'dtype' must be a string");
  CHECK(error_of(entry("F17", "[2]", "[0,4]")) == "f: tensor 'x': unknown dtype 'F17'");
  CHECK(error_of(R"({"dtype":"F16","data_offsets":[0,4]})") ==
        "f: tensor 'x': 'shape' must be an array");
  CHECK(error_of(R"({"dtype":"F16","shape":[2]})") ==
        "f: tensor 'x': 'data_offsets' must be two whole numbers");
  CHECK(error_of(R"({"dtype":"F16","shape":[2],"data_offsets":[0,4],"crc":1})") ==
        "f: tensor 'x': has a key 'crc'");
  CHECK(error_of(entry("F16", "[-2]", "[0,4]")) ==
        "f: tensor 'x': dimensions must be whole numbers below 2^63, got -2");
  CHECK(error_of(entry("F16", "[2.0]", "[0,4]")).find("got 2.0") != std::string::npos);
  CHECK(error_of(entry("F16", "[9223372036854775808]", "[0,4]")).find("below 2^63") !=
        std::string::npos);
  CHECK(error_of(entry("F16", "[1,1,1,1,1,1,1,1,2]", "[0,4]")) ==
        "f: tensor 'x': has 9 dimensions, at most 8 are supported");
  CHECK(error_of(entry("F16", "[4294967296,4294967296]", "[0,4]")) ==
        "f: tensor 'x': the product of the dimensions is too large");
  CHECK(error_of(entry("F4", "[1]", "[0,4]")) == "f: tensor 'x': its 4 bits are not whole bytes");
  CHECK(error_of(entry("F16", "[3]", "[0,4]")) ==
        "f: tensor 'x': F16 of these dimensions take 6 bytes, data_offsets say 4");
}

TEST_CASE("data must be there, once, without gaps") {
  CHECK(error_of(entry("F16", "[2]", "[4,0]")) ==
        "f: tensor 'x': data_offsets end at 0, before their start at 4");
  CHECK(error_of(entry("F16", "[2]", "[2,6]"))
            .find("needs 4 bytes at offset 2 of the data, which "
                  "has 4 bytes") != std::string::npos);
  CHECK(error_of(entry("F16", "[2]", "[18446744073709551611,18446744073709551615]"))
            .find("needs 4 bytes at offset 18446744073709551611") != std::string::npos);
  CHECK(error_of(entry("F16", "[1]", "[2,4]")) ==
        "f: tensor 'x': starts at offset 2, but the previous tensor ends at 0");
  CHECK(error_of(entry("F16", "[1]", "[0,2]")) ==
        "f: tensors end after 2 bytes of data, but there are 4");
  const auto two = [](const std::string& first, const std::string& second) {
    return error(stored_file(R"({"a":)" + first + R"(,"b":)" + second + "} ", "12345678"));
  };
  CHECK(two(entry("U8", "[5]", "[0,5]"), entry("U8", "[4]", "[4,8]")) ==
        "f: tensor 'b': begins at offset 4, within the tensor before it");
  CHECK(two(entry("U8", "[8]", "[0,8]"), entry("U8", "[8]", "[0,8]"))
            .find("within the tensor before it") != std::string::npos);
}
