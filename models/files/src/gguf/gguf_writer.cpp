#include "weft/files/gguf_writer.h"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/gguf_limits.h"
#include "weft/files/output_file.h"

namespace weft {
namespace {

using gguf::kDefaultAlignment, gguf::kMaxAlignment, gguf::kMaxKeyBytes, gguf::kMaxTensorName,
    gguf::kMinAlignment;

static_assert(std::endian::native == std::endian::little,
              "values are copied into the file as they stand");

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_string(std::string& out, std::string_view text) {
  append(out, std::uint64_t{text.size()});
  out += text;
}

void append_type(std::string& out, MetaType type) {
  append(out, static_cast<std::uint32_t>(type));
}

std::uint64_t round_up(std::uint64_t n, std::uint64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

// Which alternative of MetaValue::value and of MetaArray::values holds elements of a type.
std::size_t alternative(MetaType type) {
  switch (type) {
    case MetaType::uint8:
    case MetaType::uint16:
    case MetaType::uint32:
    case MetaType::uint64:
      return 0;
    case MetaType::int8:
    case MetaType::int16:
    case MetaType::int32:
    case MetaType::int64:
      return 1;
    case MetaType::float32:
    case MetaType::float64:
      return 2;
    case MetaType::boolean:
      return 3;
    case MetaType::string:
      return 4;
    case MetaType::array:
      return 5;
  }
  return std::variant_npos;
}

void check_alternative(MetaType type, std::size_t held) {
  if (held != alternative(type))
    fail<ValueError>("a value of type {} holds another type", to_string(type));
}

template <class Narrow, class Wide>
void append_integer(std::string& out, MetaType type, Wide value) {
  if (!std::in_range<Narrow>(value)) fail<ValueError>("{} does not fit {}", value, to_string(type));
  append(out, static_cast<Narrow>(value));
}

void append_element(std::string& out, MetaType type, std::uint64_t value) {
  switch (type) {
    case MetaType::uint8:
      return append_integer<std::uint8_t>(out, type, value);
    case MetaType::uint16:
      return append_integer<std::uint16_t>(out, type, value);
    case MetaType::uint32:
      return append_integer<std::uint32_t>(out, type, value);
    default:
      return append(out, value);
  }
}

void append_element(std::string& out, MetaType type, std::int64_t value) {
  switch (type) {
    case MetaType::int8:
      return append_integer<std::int8_t>(out, type, value);
    case MetaType::int16:
      return append_integer<std::int16_t>(out, type, value);
    case MetaType::int32:
      return append_integer<std::int32_t>(out, type, value);
    default:
      return append(out, value);
  }
}

void append_element(std::string& out, MetaType type, double value) {
  type == MetaType::float32 ? append(out, static_cast<float>(value)) : append(out, value);
}

void append_element(std::string& out, MetaType, bool value) {
  append(out, std::uint8_t{value});
}
void append_element(std::string& out, MetaType, std::string_view value) {
  append_string(out, value);
}
void append_element(std::string& out, MetaType type, const std::shared_ptr<const MetaArray>& array);

void append_element(std::string& out, MetaType, const MetaValue& value) {
  check_alternative(MetaType::array, value.value.index());
  append_element(out, MetaType::array, std::get<std::shared_ptr<const MetaArray>>(value.value));
}

void append_element(std::string& out, MetaType, const std::shared_ptr<const MetaArray>& array) {
  if (!array) fail<ValueError>("a value of type array holds no array");
  check_alternative(array->element, array->values.index());
  append_type(out, array->element);
  append(out, std::uint64_t{array->size()});
  std::visit(
      [&](const auto& values) {
        using T = typename std::decay_t<decltype(values)>::value_type;
        for (const T& v : values) append_element(out, array->element, v);
      },
      array->values);
}

void append_value(std::string& out, const MetaValue& value) {
  check_alternative(value.type, value.value.index());
  std::visit([&](const auto& v) { append_element(out, value.type, v); }, value.value);
}

}  // namespace

bool is_layout_key(std::string_view key) {
  return key == "general.alignment" || key.starts_with("split.") || key.starts_with("weft.split.");
}

GgufWriter::GgufWriter(std::uint64_t alignment) : alignment_(alignment) {
  if (!std::has_single_bit(alignment) || alignment < kMinAlignment || alignment > kMaxAlignment) {
    fail<ValueError>("alignment must be a power of two from {} to {}, got {}", kMinAlignment,
                     kMaxAlignment, alignment);
  }
  if (alignment == kDefaultAlignment) return;
  begin_entry("general.alignment");
  append_type(entries_, MetaType::uint32);
  append(entries_, static_cast<std::uint32_t>(alignment));
}

void GgufWriter::begin_entry(std::string_view key) {
  if (key.empty()) fail<ValueError>("a key cannot be empty");
  if (key.size() > kMaxKeyBytes) {
    fail<ValueError>("key '{}' must be at most {} bytes long, got {}", printable(key), kMaxKeyBytes,
                     key.size());
  }
  const bool reserved = key == "general.alignment" && alignment_ == kDefaultAlignment;
  if (reserved || !keys_.emplace(key).second)
    fail<ValueError>("key '{}' already exists", printable(key));
  append_string(entries_, key);
  ++n_entries_;
}

void GgufWriter::add(std::string_view key, const MetaValue& value) {
  std::string encoded;
  append_value(encoded, value);
  begin_entry(key);
  append_type(entries_, value.type);
  entries_ += encoded;
}

void GgufWriter::add_tensor(std::string name, const TensorSpec& spec,
                            std::span<const std::byte> bytes) {
  add_tensor(std::move(name), spec, [bytes](const Put& put) { put(bytes); });
}

void GgufWriter::add_tensor(std::string name, const TensorSpec& spec, Produce produce) {
  if (name.empty() || name.size() > kMaxTensorName) {
    fail<ValueError>("a tensor's name must have 1 to {} bytes, got {}", kMaxTensorName,
                     name.size());
  }
  if (!spec.present() || spec.dtype.gguf_id() < 0) {
    fail<DTypeError>("tensor '{}': type {} cannot be written to a file", printable(name),
                     spec.dtype.name());
  }
  const bool varies = spec.shape.n_dims() > 0 && spec.shape[0].varies();
  if (varies || spec.shape.elems() == 0 || spec.shape.last() % spec.dtype.block_elems() != 0) {
    fail<ShapeError>("tensor '{}': {} is not fixed rows of whole blocks", printable(name),
                     to_string(spec));
  }
  const std::int64_t n_bytes = spec.bytes();
  if (!names_.insert(name).second) fail<ValueError>("tensor '{}' already exists", printable(name));
  tensors_.push_back({std::move(name), spec, n_bytes, std::move(produce)});
}

std::string GgufWriter::header() const {
  std::string out = "GGUF";
  append(out, gguf::kWrittenVersion);
  append(out, std::uint64_t{tensors_.size()});
  append(out, n_entries_);
  out += entries_;
  std::uint64_t offset = 0;
  for (const Tensor& tensor : tensors_) {
    const Shape& shape = tensor.spec.shape;
    append_string(out, tensor.name);
    append(out, static_cast<std::uint32_t>(shape.n_dims()));
    for (int i = shape.n_dims(); i-- > 0;) append(out, static_cast<std::uint64_t>(shape[i].bound));
    append(out, static_cast<std::uint32_t>(tensor.spec.dtype.gguf_id()));
    append(out, offset);
    offset += round_up(static_cast<std::uint64_t>(tensor.n_bytes), alignment_);
  }
  out.resize(round_up(out.size(), alignment_), '\0');
  return out;
}

std::uint64_t GgufWriter::file_bytes() const {
  std::uint64_t sum = header().size();
  for (const Tensor& tensor : tensors_)
    sum += round_up(static_cast<std::uint64_t>(tensor.n_bytes), alignment_);
  return sum;
}

void GgufWriter::emit(const Put& put) const {
  const std::string front = header();
  put(std::as_bytes(std::span(front)));
  const std::vector<std::byte> zeros(alignment_);
  for (const Tensor& tensor : tensors_) {
    const auto expected = static_cast<std::uint64_t>(tensor.n_bytes);
    std::uint64_t got = 0;
    tensor.produce([&](std::span<const std::byte> bytes) {
      got += bytes.size();
      if (got <= expected) put(bytes);
    });
    if (got != expected)
      fail<ValueError>("tensor '{}' must have {} bytes, got {}", printable(tensor.name), expected,
                       got);
    put(std::span(zeros).first(round_up(expected, alignment_) - expected));
  }
}

void GgufWriter::write(const std::string& path) const {
  OutputFile file(path);
  file.reserve(file_bytes());
  emit([&](std::span<const std::byte> bytes) { file.write(bytes); });
  file.commit();
}

std::vector<std::byte> GgufWriter::to_bytes() const {
  std::vector<std::byte> all;
  emit(
      [&](std::span<const std::byte> bytes) { all.insert(all.end(), bytes.begin(), bytes.end()); });
  return all;
}

}  // namespace weft
