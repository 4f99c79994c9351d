#include "weft/files/checkpoint.h"
#include "weft/files/gguf_types.h"
#include "weft/ops/formats/format.h"

namespace weft::gguf {
namespace {

struct Removed {
  std::uint32_t id;
  std::string_view name;
};
constexpr Removed kRemoved[] = {
    {4, "Q4_2"},      {5, "Q4_3"},        {31, "Q4_0_4_4"},   {32, "Q4_0_4_8"},
    {33, "Q4_0_8_8"}, {36, "IQ4_NL_4_4"}, {37, "IQ4_NL_4_8"}, {38, "IQ4_NL_8_8"},
};

}  // namespace

DType find_type(std::uint32_t id) {
  if (const Format* format = find_format_by_gguf_id(id)) return format->dtype;
  return {};
}

std::string_view removed_type(std::uint32_t id) {
  for (const Removed& removed : kRemoved) {
    if (removed.id == id) return removed.name;
  }
  return {};
}

std::string supported_types() {
  std::string names;
  for (const Format* format : all_formats()) {
    if (format->dtype.gguf_id() < 0) continue;
    if (!names.empty()) names += ", ";
    names += format->dtype.name();
  }
  return names;
}

}  // namespace weft::gguf

namespace weft {

bool is_supported(DType type) {
  return find_format(type) != nullptr;
}

}  // namespace weft
