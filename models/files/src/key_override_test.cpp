#include "weft/files/key_override.h"

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/files/checkpoint.h"
#include "weft/files/gguf_writer.h"
#include "weft/files/mapped_file.h"

#include "support/error_text.h"

namespace weft {
namespace {

using test::text_of;

std::string refusal(const std::string& text) {
  return text_of([&] { parse_key_overrides(text); });
}

Checkpoint sample() {
  GgufWriter writer;
  writer.add_string("general.architecture", "llama");
  writer.add_u32("n", 7);
  writer.add_i32s("list", std::vector<std::int32_t>{1, 2});
  const std::vector<float> data{1, 2};
  writer.add_tensor("a", {f32, {2}}, std::as_bytes(std::span(data)));
  return Checkpoint::parse(MappedFile::anonymous(writer.to_bytes()), "f");
}

}  // namespace

TEST_CASE("overrides of keys are parsed by type") {
  const auto all = parse_key_overrides("a.b=int:-3,c=float:0.5,d=bool:true,e=str:x,y=1,z,f=str:");
  REQUIRE(all.size() == 5);
  CHECK(all[0].key == "a.b");
  CHECK(std::get<std::int64_t>(all[0].value) == -3);
  CHECK(std::get<double>(all[1].value) == 0.5);
  CHECK(std::get<bool>(all[2].value));
  CHECK(std::get<std::string>(all[3].value) == "x,y=1,z");
  CHECK(std::get<std::string>(all[4].value).empty());
}

TEST_CASE("overrides that are not KEY=TYPE:VALUE are refused") {
  const std::string form = "' must be KEY=TYPE:VALUE, TYPE one of int, float, bool, str";
  for (const std::string text : {"", "a", "a=", "a=int", "a=long:1", "=int:1", "a=int:1,b"}) {
    CAPTURE(text);
    const bool ends = text == "a=int:1,b";  // part of the number
    CHECK(refusal(text) ==
          (ends ? "the value of key 'a' must be a whole number of 64 bits, got '1,b'"
                : "'" + text + form));
  }
  CHECK(refusal("a=int:99999999999999999999") ==
        "the value of key 'a' must be a whole number of 64 bits, got '99999999999999999999'");
  CHECK(refusal("a=float:inf") == "the value of key 'a' must be a finite number, got 'inf'");
  CHECK(refusal("a=bool:yes") == "the value of key 'a' must be true or false, got 'yes'");
  CHECK(refusal("split.count=int:2") == "key 'split.count' cannot be overridden");
  CHECK(refusal("general.alignment=int:8") == "key 'general.alignment' cannot be overridden");
}

TEST_CASE("a checkpoint with other keys") {
  const Checkpoint file = sample();
  const Checkpoint other = file.with_keys(
      parse_key_overrides("n=int:9,new=str:text,list=int:4,m=float:1.5,b=bool:false"));
  CHECK(other.find_uint("n") == 9);
  CHECK(other.find_string("new") == "text");
  CHECK(other.find_int("list") == 4);
  CHECK(other.find_float("m") == 1.5);
  CHECK(other.find_bool("b") == false);
  CHECK(other.find_string("general.architecture") == "llama");
  CHECK(other.metadata().size() == 6);
  CHECK(other.find_tensor("a")->data == file.find_tensor("a")->data);
  CHECK(file.find_uint("n") == 7);
  // The last one counts, and the value may be of another type than the file's.
  CHECK(file.with_keys(parse_key_overrides("n=int:1,n=int:2")).find_uint("n") == 2);
  CHECK_THROWS_WITH_AS(file.with_keys(parse_key_overrides("n=str:x")).find_uint("n"),
                       "f: key 'n' must be an unsigned integer, got string", FormatError);
}

}  // namespace weft
