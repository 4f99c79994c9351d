#include "weft/files/describe.h"

#include <cmath>
#include <limits>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "weft/base/json_string.h"
#include "weft/base/printable.h"
#include "weft/base/utf8.h"

namespace weft {
namespace {

// A text that is not UTF-8 becomes {"hex": "..."}, so that no byte is lost.
std::string json_string_or_hex(std::string_view text) {
  if (is_utf8(text)) return json_string(text);
  std::string hex;
  for (const char c : text) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return "{\"hex\": \"" + hex + "\"}";
}

// Keys must be strings: bytes that are not UTF-8 are escaped.
std::string json_key(std::string_view text) {
  return is_utf8(text) ? json_string(text) : json_string(printable(text, text.size()));
}

// Writes one element of any kind directly to the stream, because arrays can be long.
struct JsonOf {
  std::ostream& out;
  MetaType type;
  std::size_t max_elements;

  void operator()(std::uint64_t v) const { out << fmt::format("{}", v); }
  void operator()(std::int64_t v) const { out << fmt::format("{}", v); }
  void operator()(bool v) const { out << (v ? "true" : "false"); }
  void operator()(std::string_view v) const { out << json_string_or_hex(v); }
  void operator()(double v) const {
    std::string text = shortest_decimal(v, type);
    // JSON has one kind of numbers, but many readers of it have two.
    if (text.find_first_of(".en") == std::string::npos) text += ".0";
    std::isfinite(v) ? out << text : out << '"' << text << '"';
  }
  void operator()(const MetaValue& v) const {
    std::visit(JsonOf{out, v.type, max_elements}, v.value);
  }
  void operator()(const std::shared_ptr<const MetaArray>& array) const {
    if (array->size() > max_elements) {
      out << fmt::format("{{\"length\": {}}}", array->size());
      return;
    }
    const JsonOf element{out, array->element, max_elements};
    std::visit(
        [&](const auto& values) {
          using T = typename std::decay_t<decltype(values)>::value_type;
          out << '[';
          for (std::size_t i = 0; i < values.size(); ++i) {
            if (i) out << ", ";
            element(static_cast<const T&>(values[i]));
          }
          out << ']';
        },
        array->values);
  }
};

void write_metadata(std::ostream& out, const Checkpoint& file) {
  const char* separator = "\n    ";
  for (const MetaEntry& e : file.metadata()) {
    out << separator << json_key(e.key)
        << fmt::format(": {{\"type\": \"{}\", ", to_string(e.value.type));
    if (const MetaArray* array = as_array(e.value))
      out << fmt::format("\"element\": \"{}\", ", to_string(array->element));
    out << "\"value\": ";
    JsonOf{out, e.value.type, std::numeric_limits<std::size_t>::max()}(e.value);
    out << '}';
    separator = ",\n    ";
  }
}

void write_tensors(std::ostream& out, const Checkpoint& file) {
  const char* separator = "";
  for (const CheckpointTensor& t : file.tensors()) {
    std::string shape;
    for (const Dim& dim : t.spec.shape)
      shape += (shape.empty() ? "" : ", ") + fmt::format("{}", dim.bound);
    out << separator
        << fmt::format(
               R"({{"name": {}, "type": "{}", "shape": [{}], "bytes": {}, "offset": {}, "part": {}}})",
               json_string_or_hex(t.name), t.spec.dtype.name(), shape, t.n_bytes, t.file_offset,
               t.part);
    separator = ",\n    ";
  }
}

std::string json_of(const TensorTotals::Sum& sum) {
  return fmt::format(R"("tensors": {}, "weights": {}, "bytes": {}, "bits_per_weight": {})",
                     sum.tensors, sum.elems, sum.bytes, sum.bits());
}

}  // namespace

double TensorTotals::Sum::bits() const {
  return elems ? 8.0 * static_cast<double>(bytes) / static_cast<double>(elems) : 0;
}

TensorTotals::TensorTotals(std::span<const CheckpointTensor> tensors) {
  const auto add = [](Sum& sum, const CheckpointTensor& t) {
    ++sum.tensors;
    sum.elems += t.spec.shape.elems();
    sum.bytes += t.n_bytes;
  };
  for (const CheckpointTensor& t : tensors) {
    add(all, t);
    auto& [type, sum] = by_type[t.spec.dtype.gguf_id()];
    type = t.spec.dtype;
    add(sum, t);
  }
}

std::string shortest_decimal(double value, MetaType type) {
  return type == MetaType::float32 ? fmt::format("{}", static_cast<float>(value))
                                   : fmt::format("{}", value);
}

void write_json(std::ostream& out, const Checkpoint& file) {
  out << "{\n  \"files\": [";
  const char* separator = "";
  for (const std::string& path : file.part_paths()) {
    out << separator << json_string_or_hex(path);
    separator = ", ";
  }
  out << fmt::format(
      "],\n  \"version\": {},\n  \"alignment\": {},\n  \"bytes\": {},\n  \"metadata\": {{",
      file.version(), file.alignment(), file.file_bytes());
  write_metadata(out, file);
  out << "\n  },\n  \"tensors\": [\n    ";
  write_tensors(out, file);
  const TensorTotals totals(file.tensors());
  out << "\n  ],\n  \"types\": {";
  separator = "\n    ";
  for (const auto& [id, entry] : totals.by_type) {
    out << separator
        << fmt::format("\"{}\": {{{}, \"supported\": {}}}", entry.first.name(),
                       json_of(entry.second), is_supported(entry.first));
    separator = ",\n    ";
  }
  out << fmt::format("\n  }},\n  \"totals\": {{{}}}\n}}\n", json_of(totals.all));
}

std::string metadata_json(const Checkpoint& file, std::size_t max_elements) {
  std::ostringstream out;
  const char* separator = "{";
  for (const MetaEntry& e : file.metadata()) {
    out << separator << json_key(e.key) << ": ";
    JsonOf{out, e.value.type, max_elements}(e.value);
    separator = ", ";
  }
  return file.metadata().empty() ? "{}" : out.str() + "}";
}

}  // namespace weft
