#include "arrays/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/base/read_file.h"
#include "weft/ops/formats/format.h"

namespace weft::tools {
namespace {

constexpr std::size_t kPrefix = 10;  // magic, version, length of the dictionary in 16 bits

[[noreturn]] void broken(const std::string& path, std::string_view what) {
  fail<FormatError>("{}: must be a .npy file of float32 in C order, {}", path, what);
}

// The text after `'key':` in the dictionary.
std::string_view value_of(const std::string& path, std::string_view dictionary,
                          std::string_view key) {
  const std::size_t at = dictionary.find(key);
  if (at == std::string_view::npos) broken(path, fmt::format("it has no {}", key));
  std::string_view rest = dictionary.substr(at + key.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(": "), rest.size()));
  return rest;
}

std::vector<std::int64_t> dimensions(const std::string& path, std::string_view dictionary) {
  const std::string_view text = value_of(path, dictionary, "'shape'");
  const std::size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == std::string_view::npos)
    broken(path, "its shape is malformed");
  std::vector<std::int64_t> dims;
  for (const char *p = text.data() + 1, *stop = text.data() + end; p < stop;) {
    if (*p == ' ' || *p == ',') {
      ++p;
      continue;
    }
    std::int64_t n = 0;
    const auto [next, error] = std::from_chars(p, stop, n);
    if (error != std::errc() || n <= 0) broken(path, "its shape is not made of positive numbers");
    dims.push_back(n);
    p = next;
  }
  return dims;
}

[[noreturn]] void refuse_array(const std::string& name, std::string_view what) {
  fail<FormatError>("{}: must be a .npy array of float16, float32 or float64 in C order, {}", name,
                    what);
}

// The dictionary of an array's header; `bytes` becomes the rest after it.
std::string_view take_dictionary(std::string_view& bytes, const std::string& name) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i]));
  };
  const bool wide = bytes.size() > 12 && (byte(6) == 2 || byte(6) == 3);
  if (bytes.size() <= 12 || !bytes.starts_with("\x93NUMPY") || (byte(6) != 1 && !wide))
    refuse_array(name, "it does not begin as one");
  const std::size_t prefix = wide ? 12 : kPrefix;
  const std::size_t length =
      byte(8) + 256 * byte(9) + (wide ? 65536 * byte(10) + 16777216 * byte(11) : 0);
  if (length > bytes.size() - prefix) refuse_array(name, "it ends within its header");
  const std::string_view dictionary = bytes.substr(prefix, length);
  bytes.remove_prefix(prefix + length);
  return dictionary;
}

// n floats of 2, 4 or 8 bytes each.
std::vector<float> floats(std::string_view bytes, std::int64_t n, std::int64_t n_bytes) {
  std::vector<float> values(static_cast<std::size_t>(n));
  if (n_bytes != 8) {
    find_format(n_bytes == 2 ? f16 : f32)
        ->decode(reinterpret_cast<const std::byte*>(bytes.data()), values.data(), n);
    return values;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    double value = 0;
    std::memcpy(&value, bytes.data() + 8 * i, 8);
    values[i] = static_cast<float>(value);
  }
  return values;
}

}  // namespace

// Padded so that the numbers start at a multiple of 64.
std::string npy_header(std::int64_t rows, std::int64_t cols) {
  std::string text =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, cols);
  text.append(63 - (kPrefix + text.size()) % 64, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

Array parse_npy(std::string_view bytes, const std::string& name) {
  const auto refuse = [&](std::string_view what) { refuse_array(name, what); };
  const std::string_view dictionary = take_dictionary(bytes, name);
  const std::string_view descr = value_of(name, dictionary, "'descr'");
  struct Type {
    std::string_view descr;
    std::int64_t n_bytes;
  };
  constexpr Type kTypes[] = {{"'<f2'", 2}, {"'<f4'", 4}, {"'<f8'", 8}};
  const auto* type =
      std::ranges::find_if(kTypes, [&](const Type& t) { return descr.starts_with(t.descr); });
  if (type == std::end(kTypes)) refuse("its elements have another type");
  if (!value_of(name, dictionary, "'fortran_order'").starts_with("False"))
    refuse("it is in Fortran order");
  Array array{.shape = dimensions(name, dictionary), .values = {}};
  if (array.shape.size() > 8) refuse("it has more than 8 dimensions");
  const auto have = static_cast<std::int64_t>(bytes.size()) / type->n_bytes;
  std::int64_t n = 1;
  for (const std::int64_t d : array.shape) {
    if (d > have / n) refuse("it has fewer bytes than its shape requires");
    n *= d;
  }
  if (n * type->n_bytes != static_cast<std::int64_t>(bytes.size()))
    refuse("it has more bytes than its shape requires");
  array.values = floats(bytes, n, type->n_bytes);
  return array;
}

Matrix read_npy(const std::string& path) {
  const std::string bytes = read_file(path, kUnlimitedBytes);
  const std::string_view text = bytes;
  if (text.size() < kPrefix || text.substr(0, 8) != std::string_view("\x93NUMPY\x01\x00", 8))
    broken(path, "it does not begin as one of version 1");
  const auto byte = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(text[i]));
  };
  const std::size_t start = kPrefix + byte(8) + 256 * byte(9);
  if (start > text.size()) broken(path, "it ends within its header");
  const std::string_view dictionary = text.substr(kPrefix, start - kPrefix);
  if (!value_of(path, dictionary, "'descr'").starts_with("'<f4'"))
    broken(path, "its elements have another type");
  if (!value_of(path, dictionary, "'fortran_order'").starts_with("False"))
    broken(path, "it is in Fortran order");
  const std::vector<std::int64_t> dims = dimensions(path, dictionary);
  if (dims.empty() || dims.size() > 2)
    broken(path, fmt::format("it has {} dimensions instead of 1 or 2", dims.size()));
  Matrix m{.rows = dims.size() == 2 ? dims[0] : 1, .cols = dims.back(), .values = {}};
  const auto have = static_cast<std::int64_t>(text.size() - start);
  if (m.cols > have / 4 || m.rows > have / 4 / m.cols || m.rows * m.cols * 4 != have)
    broken(path,
           fmt::format("it has {} bytes of elements for shape [{}, {}]", have, m.rows, m.cols));
  m.values.resize(static_cast<std::size_t>(m.rows * m.cols));
  std::memcpy(m.values.data(), text.data() + start, static_cast<std::size_t>(have));
  return m;
}

}  // namespace weft::tools
