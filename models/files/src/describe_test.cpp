#include "weft/files/describe.h"

#include <sstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "weft/files/gguf_writer.h"
#include "weft/files/mapped_file.h"

namespace weft {
namespace {

using Json = nlohmann::json;

Checkpoint described() {
  GgufWriter writer;
  writer.add_string("general.architecture", "llama");
  writer.add_string("bytes", "a\xff");
  writer.add_string("\xfe", "odd key");
  writer.add_f32("scale", 0.1f);
  writer.add_f32("limit", std::numeric_limits<float>::infinity());
  writer.add_bool("flag", true);
  writer.add_i32s("list", std::vector<std::int32_t>{1, -2, 3});
  writer.add_strings("words", std::vector<std::string>{"x", "\"y\""});
  const std::vector<float> data(6, 1.0f);
  writer.add_tensor("a", {f32, {2, 3}}, std::as_bytes(std::span(data)));
  return Checkpoint::parse(MappedFile::anonymous(writer.to_bytes()), "f");
}

}  // namespace

TEST_CASE("metadata is an object of plain values") {
  const Json json = Json::parse(metadata_json(described(), 3));
  CHECK(json.size() == 8);
  CHECK(json["general.architecture"] == "llama");
  CHECK(json["bytes"] == Json{{"hex", "61ff"}});
  CHECK(json["\\xfe"] == "odd key");
  CHECK(metadata_json(described(), 3).find("\"scale\": 0.1,") != std::string::npos);
  CHECK(json["limit"] == "inf");
  CHECK(json["flag"] == true);
  CHECK(json["list"] == Json{1, -2, 3});
  CHECK(json["words"] == Json{"x", "\"y\""});
}

TEST_CASE("long arrays of metadata become their length") {
  const Json json = Json::parse(metadata_json(described(), 2));
  CHECK(json["list"] == Json{{"length", 3}});
  CHECK(json["words"] == Json{"x", "\"y\""});
  CHECK(Json::parse(metadata_json(described(), 0))["words"] == Json{{"length", 2}});
}

TEST_CASE("a file is described with types, tensors and totals") {
  std::ostringstream out;
  write_json(out, described());
  const Json json = Json::parse(out.str());
  CHECK(json["files"] == Json::array({"f"}));
  CHECK(json["version"] == 3);
  CHECK(json["metadata"]["list"] ==
        Json{{"type", "array"}, {"element", "i32"}, {"value", {1, -2, 3}}});
  REQUIRE(json["tensors"].size() == 1);
  CHECK(json["tensors"][0]["name"] == "a");
  CHECK(json["tensors"][0]["type"] == "F32");
  CHECK(json["tensors"][0]["shape"] == Json{2, 3});
  CHECK(json["tensors"][0]["bytes"] == 24);
  CHECK(json["types"]["F32"]["supported"] == true);
  CHECK(json["totals"] ==
        Json{{"tensors", 1}, {"weights", 6}, {"bytes", 24}, {"bits_per_weight", 32.0}});
}

}  // namespace weft
