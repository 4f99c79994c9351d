#pragma once
// A JSON file of a directory that may be missing; it is then an empty object.

#include <filesystem>
#include <string>

#include "safetensors/json.h"

namespace weft::safetensors {

class OptionalFile {
 public:
  // Throws IoError, FormatError.
  OptionalFile(const std::string& directory, const char* name)
      : path_((std::filesystem::path(directory) / name).string()) {
    constexpr std::size_t kMax = std::size_t{16} << 20;
    const auto text = read_text(path_, kMax);
    json_ = text ? parse_json(*text, path_) : Json::object();
  }
  OptionalFile(const OptionalFile&) = delete;
  OptionalFile& operator=(const OptionalFile&) = delete;
  // Throws FormatError if the file holds something else. The file outlives the result.
  JsonObject object() const { return JsonObject(json_, path_); }

 private:
  std::string path_;
  Json json_;
};

}  // namespace weft::safetensors
