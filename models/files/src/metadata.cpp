#include "weft/files/metadata.h"

#include <iterator>

namespace weft {

std::string_view to_string(MetaType type) {
  constexpr std::string_view kNames[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                         "bool", "string", "array", "u64", "i64", "f64"};
  const auto index = static_cast<std::size_t>(type);
  return index < std::size(kNames) ? kNames[index] : "unknown type";
}

std::size_t MetaArray::size() const {
  return std::visit([](const auto& v) { return v.size(); }, values);
}

const MetaArray* as_array(const MetaValue& value) {
  const auto* array = std::get_if<std::shared_ptr<const MetaArray>>(&value.value);
  return array ? array->get() : nullptr;
}

void MetadataSink::add_string(std::string_view key, std::string_view value) {
  add(key, {MetaType::string, value});
}
void MetadataSink::add_bool(std::string_view key, bool value) {
  add(key, {MetaType::boolean, value});
}
void MetadataSink::add_u32(std::string_view key, std::uint32_t value) {
  add(key, {MetaType::uint32, std::uint64_t{value}});
}
void MetadataSink::add_i32(std::string_view key, std::int32_t value) {
  add(key, {MetaType::int32, std::int64_t{value}});
}
void MetadataSink::add_u64(std::string_view key, std::uint64_t value) {
  add(key, {MetaType::uint64, value});
}
void MetadataSink::add_f32(std::string_view key, float value) {
  add(key, {MetaType::float32, double{value}});
}

void MetadataSink::add_strings(std::string_view key, std::span<const std::string> values) {
  const MetaArray array{MetaType::string,
                        std::vector<std::string_view>(values.begin(), values.end())};
  add(key, {MetaType::array, std::make_shared<const MetaArray>(array)});
}

void MetadataSink::add_i32s(std::string_view key, std::span<const std::int32_t> values) {
  const MetaArray array{MetaType::int32, std::vector<std::int64_t>(values.begin(), values.end())};
  add(key, {MetaType::array, std::make_shared<const MetaArray>(array)});
}

void MetadataSink::add_f32s(std::string_view key, std::span<const float> values) {
  const MetaArray array{MetaType::float32, std::vector<double>(values.begin(), values.end())};
  add(key, {MetaType::array, std::make_shared<const MetaArray>(array)});
}

void MetadataSink::add_f64s(std::string_view key, std::span<const double> values) {
  const MetaArray array{MetaType::float64, std::vector<double>(values.begin(), values.end())};
  add(key, {MetaType::array, std::make_shared<const MetaArray>(array)});
}

}  // namespace weft
