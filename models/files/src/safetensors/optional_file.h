#pragma once
// A JSON file of a directory that may be missing; it is then an empty object. All files of settings
// are read by it, within the same limit.

#include <filesystem>
#include <string>
#include <utility>

#include "safetensors/json.h"

namespace weft::safetensors {

class OptionalFile {
 public:
  // Throws IoError, FormatError.
  OptionalFile(const std::string& directory, const char* name)
      : OptionalFile((std::filesystem::path(directory) / name).string()) {}
  explicit OptionalFile(std::string path) : path_(std::move(path)) {
    constexpr std::size_t kMax = std::size_t{16} << 20;
    const auto text = read_text(path_, kMax);
    found_ = text.has_value();
    json_ = text ? parse_json(*text, path_) : Json::object();
  }
  OptionalFile(const OptionalFile&) = delete;
  OptionalFile& operator=(const OptionalFile&) = delete;
  bool found() const { return found_; }
  const std::string& path() const { return path_; }
  const Json& json() const { return json_; }
  // Throws FormatError if the file holds something else. The file outlives the result.
  JsonObject object() const { return JsonObject(json_, path_); }

 private:
  std::string path_;
  bool found_ = false;
  Json json_;
};

}  // namespace weft::safetensors
