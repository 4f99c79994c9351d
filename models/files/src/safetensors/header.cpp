#include "safetensors/header.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"

#include "lfs_pointer.h"
#include "safetensors/json.h"

namespace weft::safetensors {
namespace {

constexpr std::uint64_t kMaxHeader = 100'000'000;  // the limit of the format
constexpr std::size_t kMaxDims = 8;
constexpr std::size_t kMaxName = 1024;

struct ElementType {
  std::string_view name;
  std::uint32_t bits;
  DType type = {};
};
// Source: enum Dtype of
// https://github.com/huggingface/safetensors/blob/main/safetensors/src/tensor.rs
constexpr ElementType kTypes[] = {
    {"F32", 32, f32}, {"F16", 16, f16}, {"BF16", 16, bf16}, {"F64", 64},    {"I64", 64},
    {"I32", 32},      {"I16", 16},      {"I8", 8},          {"U64", 64},    {"U32", 32},
    {"U16", 16},      {"U8", 8},        {"BOOL", 8},        {"F8_E4M3", 8}, {"F8_E5M2", 8},
    {"F8_E8M0", 8},   {"F4", 4},        {"F6_E2M3", 6},     {"F6_E3M2", 6}, {"C64", 64},
};

// Reads the entry of one tensor.
class Entry {
 public:
  Entry(const std::string& file, const std::string& name) : file_(file), name_(name) {}

  StoredTensor read(const Json& json) const {
    if (name_.empty() || name_.size() > kMaxName)
      refuse("a name must have 1 to {} bytes, got {}", kMaxName, name_.size());
    if (!json.is_object()) refuse("must be an object, got {}", json.type_name());
    for (const auto& [key, value] : json.items()) {
      if (key != "dtype" && key != "shape" && key != "data_offsets")
        refuse("has a key '{}'", printable(key));
    }
    StoredTensor tensor{.name = name_};
    const ElementType& type = read_type(json);
    tensor.type_name = type.name;
    tensor.type = type.type;
    tensor.shape = read_shape(json);
    read_offsets(json, tensor);
    const std::uint64_t expected = count_bytes(tensor.shape, type);
    if (tensor.n_bytes != expected) {
      refuse("{} of these dimensions take {} bytes, data_offsets say {}", type.name, expected,
             tensor.n_bytes);
    }
    return tensor;
  }

  template <class E = FormatError, class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) const {
    throw E(fmt::format("{}: tensor '{}': ", printable_path(file_), printable(name_)) +
            fmt::format(text, std::forward<Args>(args)...));
  }

 private:
  const ElementType& read_type(const Json& json) const {
    const auto found = json.find("dtype");
    if (found == json.end() || !found->is_string()) refuse("'dtype' must be a string");
    const auto& name = found->get_ref<const std::string&>();
    const auto* type = std::ranges::find(kTypes, name, &ElementType::name);
    if (type == std::end(kTypes)) refuse<UnsupportedError>("unknown dtype '{}'", printable(name));
    return *type;
  }

  std::vector<std::int64_t> read_shape(const Json& json) const {
    const auto found = json.find("shape");
    if (found == json.end() || !found->is_array()) refuse("'shape' must be an array");
    if (found->size() > kMaxDims)
      refuse("has {} dimensions, at most {} are supported", found->size(), kMaxDims);
    std::vector<std::int64_t> shape;
    for (const Json& dim : *found) {
      if (!dim.is_number_unsigned() || dim.get<std::uint64_t>() > INT64_MAX)
        refuse("dimensions must be whole numbers below 2^63, got {}", printable(dim.dump()));
      shape.push_back(dim.get<std::int64_t>());
    }
    return shape;
  }

  void read_offsets(const Json& json, StoredTensor& tensor) const {
    const auto found = json.find("data_offsets");
    const bool two = found != json.end() && found->is_array() && found->size() == 2 &&
                     (*found)[0].is_number_unsigned() && (*found)[1].is_number_unsigned();
    if (!two) refuse("'data_offsets' must be two whole numbers");
    const auto begin = (*found)[0].get<std::uint64_t>(), end = (*found)[1].get<std::uint64_t>();
    if (end < begin) refuse("data_offsets end at {}, before their start at {}", end, begin);
    tensor.offset = begin;
    tensor.n_bytes = end - begin;
  }

  std::uint64_t count_bytes(const std::vector<std::int64_t>& shape, const ElementType& type) const {
    std::uint64_t bits = type.bits;
    for (const std::int64_t dim : shape) {
      if (__builtin_mul_overflow(bits, static_cast<std::uint64_t>(dim), &bits))
        refuse("the product of the dimensions is too large");
    }
    if (bits % 8 != 0) refuse("its {} bits are not whole bytes", bits);
    return bits / 8;
  }

  const std::string& file_;
  const std::string& name_;
};

void check_metadata(const Json& json, const std::string& file) {
  const JsonObject object(json, file, "__metadata__");
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) object.mismatch(key, "a string");
  }
}

// Turns offsets into positions in the file. Tensors must cover the data without gaps and overlaps,
// as the format requires.
void place(std::vector<StoredTensor>& tensors, std::uint64_t data_begin, std::uint64_t data_bytes,
           const std::string& file) {
  std::ranges::sort(tensors, {}, [](const StoredTensor& t) {
    return std::pair(t.offset, t.n_bytes);  // an empty tensor precedes one at the same offset
  });
  std::uint64_t end = 0;
  for (StoredTensor& t : tensors) {
    const Entry entry(file, t.name);
    if (t.offset > data_bytes || t.n_bytes > data_bytes - t.offset) {
      entry.refuse(
          "needs {} bytes at offset {} of the data, which has {} bytes (is the file truncated?)",
          t.n_bytes, t.offset, data_bytes);
    }
    if (t.offset < end) entry.refuse("begins at offset {}, within the tensor before it", t.offset);
    if (t.offset > end)
      entry.refuse("starts at offset {}, but the previous tensor ends at {}", t.offset, end);
    end = t.offset + t.n_bytes;
    t.offset += data_begin;
  }
  if (end != data_bytes) {
    fail<FormatError>("{}: tensors end after {} bytes of data, but there are {}",
                      printable_path(file), end, data_bytes);
  }
}

}  // namespace

std::vector<StoredTensor> parse_header(std::span<const std::byte> bytes, const std::string& file) {
  files::refuse_lfs_pointer(bytes, file);
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length) {
    fail<FormatError>("{}: has {} bytes, a safetensors file has at least {}", printable_path(file),
                      bytes.size(), sizeof length);
  }
  std::memcpy(&length, bytes.data(), sizeof length);
  const std::uint64_t rest = bytes.size() - sizeof length;
  if (length > kMaxHeader || length > rest) {
    fail<FormatError>(
        "{}: the header has {} bytes according to its length field, at most {} are allowed and {} "
        "exist",
        printable_path(file), length, kMaxHeader, rest);
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + sizeof length, length);
  if (!text.starts_with('{')) {
    fail<FormatError>("{}: the header must start with '{{', got '{}'", printable_path(file),
                      printable(text.substr(0, 8)));
  }
  const Json json = parse_json(text, file, /*distinct_keys=*/true);
  std::vector<StoredTensor> tensors;
  for (const auto& [name, entry] : json.items()) {
    if (name == "__metadata__") {
      check_metadata(entry, file);
    } else {
      tensors.push_back(Entry(file, name).read(entry));
    }
  }
  place(tensors, sizeof length + length, rest - length, file);
  return tensors;
}

}  // namespace weft::safetensors
