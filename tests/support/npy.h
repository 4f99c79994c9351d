#pragma once
// Reads the .npy files of the reference data: version 1, little-endian float32, C order.

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft::test {

inline std::vector<std::byte> read_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::byte> bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

inline std::vector<float> read_npy_f32(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_bytes(path);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.size() < 10 || text.compare(0, 8, std::string("\x93NUMPY\x01\x00", 8)) != 0 ||
      text.find("'<f4'") == std::string::npos) {
    throw std::runtime_error(path.string() + " is not a version 1 .npy of float32");
  }
  const std::size_t start =
      10 + static_cast<unsigned char>(text[8]) + 256 * static_cast<unsigned char>(text[9]);
  if (start > text.size()) throw std::runtime_error(path.string() + " is cut short");
  std::vector<float> values((text.size() - start) / sizeof(float));
  if (!values.empty())
    std::memcpy(values.data(), text.data() + start, values.size() * sizeof(float));
  return values;
}

}  // namespace weft::test
