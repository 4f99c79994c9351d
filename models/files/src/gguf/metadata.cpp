#include "gguf/metadata.h"

#include <type_traits>
#include <utility>

#include "weft/files/gguf_limits.h"

namespace weft::gguf {
namespace {

constexpr std::size_t kMaxNesting = 4;  // arrays within arrays; files in use nest once at most

// The minimum size of an element in the file, in bytes; 0 for unknown types.
std::uint64_t min_bytes(std::uint32_t type) {
  switch (static_cast<MetaType>(type)) {
    case MetaType::uint8:
    case MetaType::int8:
    case MetaType::boolean:
      return 1;
    case MetaType::uint16:
    case MetaType::int16:
      return 2;
    case MetaType::uint32:
    case MetaType::int32:
    case MetaType::float32:
      return 4;
    case MetaType::uint64:
    case MetaType::int64:
    case MetaType::float64:
    case MetaType::string:
      return 8;
    case MetaType::array:
      return 12;
  }
  return 0;
}

MetaType read_type(Cursor& cursor, std::string_view what) {
  const auto type = cursor.read<std::uint32_t>(what);
  if (min_bytes(type) == 0) cursor.fail_here("{} must be one of 0 to 12, got {}", what, type);
  return static_cast<MetaType>(type);
}

template <class Stored, class Wide>
std::vector<Wide> read_numbers(Cursor& cursor, std::uint64_t count) {
  std::vector<Wide> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<Wide>(cursor.read<Stored>("value"));
  return values;
}

std::vector<bool> read_bools(Cursor& cursor, std::uint64_t count) {
  std::vector<bool> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = cursor.read<std::uint8_t>("value") != 0;
  return values;
}

std::vector<std::string_view> read_strings(Cursor& cursor, std::uint64_t count) {
  std::vector<std::string_view> values(static_cast<std::size_t>(count));
  for (std::string_view& value : values) value = cursor.read_string("string");
  return values;
}

using Values = decltype(MetaArray::values);

// The elements of an array that does not contain arrays. REQUIRES: the cursor holds `count`
// elements of the minimum size.
Values read_elements(Cursor& cursor, MetaType type, std::uint64_t count) {
  switch (type) {
    case MetaType::uint8:
      return read_numbers<std::uint8_t, std::uint64_t>(cursor, count);
    case MetaType::uint16:
      return read_numbers<std::uint16_t, std::uint64_t>(cursor, count);
    case MetaType::uint32:
      return read_numbers<std::uint32_t, std::uint64_t>(cursor, count);
    case MetaType::uint64:
      return read_numbers<std::uint64_t, std::uint64_t>(cursor, count);
    case MetaType::int8:
      return read_numbers<std::int8_t, std::int64_t>(cursor, count);
    case MetaType::int16:
      return read_numbers<std::int16_t, std::int64_t>(cursor, count);
    case MetaType::int32:
      return read_numbers<std::int32_t, std::int64_t>(cursor, count);
    case MetaType::int64:
      return read_numbers<std::int64_t, std::int64_t>(cursor, count);
    case MetaType::float32:
      return read_numbers<float, double>(cursor, count);
    case MetaType::float64:
      return read_numbers<double, double>(cursor, count);
    case MetaType::boolean:
      return read_bools(cursor, count);
    case MetaType::string:
      return read_strings(cursor, count);
    case MetaType::array:
      break;
  }
  return std::vector<MetaValue>();
}

std::uint64_t decoded_bytes(MetaType type) {
  switch (type) {
    case MetaType::boolean:
      return 1;
    case MetaType::string:
      return sizeof(std::string_view);
    case MetaType::array:
      return sizeof(MetaValue) + sizeof(MetaArray) + 64;  // with the allocator's overhead
    default:
      return 8;
  }
}

struct OpenArray {
  std::shared_ptr<MetaArray> array;
  std::uint64_t missing = 0;  // elements, themselves arrays, still to be read
};

// Element type, count and, unless they are arrays, the elements.
OpenArray begin_array(Cursor& cursor, DecodeBudget& budget) {
  OpenArray open{std::make_shared<MetaArray>()};
  open.array->element = read_type(cursor, "array element type");
  const auto count = cursor.read<std::uint64_t>("array length");
  cursor.require(count, min_bytes(static_cast<std::uint32_t>(open.array->element)),
                 "array elements");
  budget.charge(cursor, count, decoded_bytes(open.array->element));
  open.array->values = read_elements(cursor, open.array->element, count);
  if (open.array->element == MetaType::array) {
    std::get<std::vector<MetaValue>>(open.array->values).reserve(static_cast<std::size_t>(count));
    open.missing = count;
  }
  return open;
}

// The stack is explicit and short, so that nesting in the file cannot overflow the call stack.
std::shared_ptr<const MetaArray> parse_array(Cursor& cursor, DecodeBudget& budget) {
  std::vector<OpenArray> stack;
  stack.push_back(begin_array(cursor, budget));
  const std::shared_ptr<const MetaArray> outermost = stack.back().array;
  while (!stack.empty()) {
    OpenArray& top = stack.back();
    if (top.missing == 0) {
      stack.pop_back();
      continue;
    }
    if (stack.size() == kMaxNesting)
      cursor.fail_here("arrays are nested more than {} deep", kMaxNesting);
    --top.missing;
    OpenArray inner = begin_array(cursor, budget);
    std::get<std::vector<MetaValue>>(top.array->values).push_back({MetaType::array, inner.array});
    stack.push_back(std::move(inner));
  }
  return outermost;
}

MetaValue parse_value(Cursor& cursor, DecodeBudget& budget) {
  const MetaType type = read_type(cursor, "value type");
  if (type == MetaType::array) return {type, parse_array(cursor, budget)};
  const auto first = [&](const auto& values) -> MetaValue {
    using T = typename std::decay_t<decltype(values)>::value_type;
    if constexpr (std::is_same_v<T, MetaValue>)
      return values.front();
    else
      return {type, T(values.front())};
  };
  return std::visit(first, read_elements(cursor, type, 1));
}

}  // namespace

void DecodeBudget::charge(const Cursor& cursor, std::uint64_t count, std::uint64_t bytes_each) {
  if (count > (kLimit - used_) / bytes_each) {
    cursor.fail_here("the header would take more than {} MiB of memory ({} elements more)",
                     kLimit >> 20, count);
  }
  used_ += count * bytes_each;
}

std::vector<MetaEntry> parse_metadata(Cursor& cursor, std::uint64_t count, DecodeBudget& budget) {
  constexpr std::uint64_t kMinEntry = 8 + 4 + 1;
  cursor.set_subject("metadata count");
  cursor.require(count, kMinEntry, "entries");
  budget.charge(cursor, count, sizeof(MetaEntry));
  std::vector<MetaEntry> entries(static_cast<std::size_t>(count));
  for (MetaEntry& entry : entries) {
    cursor.set_subject("metadata");
    entry.key = cursor.read_string("key", kMaxKeyBytes);
    cursor.set_subject("key", entry.key);
    entry.value = parse_value(cursor, budget);
  }
  return entries;
}

}  // namespace weft::gguf
