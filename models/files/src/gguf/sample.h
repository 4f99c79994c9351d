#pragma once
// A small valid file with everything a GGUF file can have, for tests.

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "weft/files/gguf_writer.h"
#include "weft/ops/formats/q8_0.h"

namespace weft::test {

inline constexpr std::array<std::byte, 256> kSampleData{};

template <class T>
MetaValue sample_array(MetaType element, std::vector<T> values) {
  return {MetaType::array,
          std::make_shared<const MetaArray>(MetaArray{element, std::move(values)})};
}

inline GgufWriter sample_writer() {
  GgufWriter writer;
  writer.add_string("general.architecture", "llama");
  writer.add("u8", {MetaType::uint8, std::uint64_t{255}});
  writer.add("i8", {MetaType::int8, std::int64_t{-128}});
  writer.add("u16", {MetaType::uint16, std::uint64_t{65535}});
  writer.add("i16", {MetaType::int16, std::int64_t{-32768}});
  writer.add_u32("u32", 4294967295);
  writer.add_i32("i32", -5);
  writer.add_f32("f32", 1.5f);
  writer.add_bool("bool", true);
  writer.add_u64("u64", UINT64_MAX);
  writer.add("i64", {MetaType::int64, INT64_MIN});
  writer.add("f64", {MetaType::float64, 0.1});
  writer.add_strings("strings", std::vector<std::string>{"a", "", "\xff\n"});
  writer.add("bools", sample_array(MetaType::boolean, std::vector<bool>{true, false}));
  writer.add_i32s("i32s", std::vector<std::int32_t>{1, -2});
  writer.add_f32s("f32s", std::vector<float>{0.5f});
  writer.add("u8s", sample_array(MetaType::uint8, std::vector<std::uint64_t>{1, 2, 3}));
  writer.add("nested",
             sample_array(MetaType::array,
                          std::vector<MetaValue>{
                              sample_array(MetaType::string, std::vector<std::string_view>{"x"}),
                              sample_array(MetaType::uint16, std::vector<std::uint64_t>{7}),
                          }));
  const std::span data(kSampleData);
  writer.add_tensor("norm", {f32, {3}}, data.first(12));
  writer.add_tensor("matrix", {q8_0, {2, 32}}, data.first(68));
  writer.add_tensor("cube", {f16, {2, 3, 1, 4}}, data.first(48));
  return writer;
}

}  // namespace weft::test
