#pragma once
// Metadata of a model file: keys and values.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weft {

struct MetaArray;

// One metadata value. Integers keep their sign class and are widened to 64 bits; `type` is the type
// that the file declared.
enum class MetaType : std::uint32_t {
  uint8 = 0,
  int8 = 1,
  uint16 = 2,
  int16 = 3,
  uint32 = 4,
  int32 = 5,
  float32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  uint64 = 10,
  int64 = 11,
  float64 = 12
};
std::string_view to_string(MetaType type);  // "u32", "string"

struct MetaValue {
  MetaType type = MetaType::uint8;
  std::variant<std::uint64_t, std::int64_t, double, bool, std::string_view,
               std::shared_ptr<const MetaArray>>
      value;
};

// Elements of an array, in file order; strings view the mapped file. Arrays of arrays hold
// MetaValues.
struct MetaArray {
  MetaType element = MetaType::uint8;
  std::variant<std::vector<std::uint64_t>, std::vector<std::int64_t>, std::vector<double>,
               std::vector<bool>, std::vector<std::string_view>, std::vector<MetaValue>>
      values;
  std::size_t size() const;
};
const MetaArray* as_array(const MetaValue& value);  // null if it is not an array

struct MetaEntry {
  std::string_view key;
  MetaValue value;
};

// Receives metadata: a file that is being written, or a checkpoint that is being assembled.
class MetadataSink {
 public:
  virtual ~MetadataSink() = default;

  // Adds one entry and copies its value. Throws ValueError for a key that already exists or that
  // the sink cannot hold, and for a value that does not fit its type.
  virtual void add(std::string_view key, const MetaValue& value) = 0;

  void add_string(std::string_view key, std::string_view value);
  void add_bool(std::string_view key, bool value);
  void add_u32(std::string_view key, std::uint32_t value);
  void add_i32(std::string_view key, std::int32_t value);
  void add_u64(std::string_view key, std::uint64_t value);
  void add_f32(std::string_view key, float value);
  void add_strings(std::string_view key, std::span<const std::string> values);
  void add_i32s(std::string_view key, std::span<const std::int32_t> values);
  void add_f32s(std::string_view key, std::span<const float> values);
  void add_f64s(std::string_view key, std::span<const double> values);
};

}  // namespace weft
