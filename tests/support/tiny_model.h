#pragma once
// For tests: model files with random weights, written, loaded and removed again.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "weft/files/made_model.h"
#include "weft/run/model.h"

namespace weft::test {

struct TinyModel {
  std::string arch = "llama";
  DType matrices = f32;
  arch::MadeSizes sizes = {};
  bool optional_tensors = false;  // biases and other tensors that files may lack
  // Called with the values of every tensor before they are encoded; may be empty.
  std::function<void(const std::string& name, std::vector<float>& values)> change;
};

inline void write_tiny_model(const TinyModel& about, const std::string& path) {
  arch::MadeSource source(about.arch, about.sizes);
  source.type_of = arch::matrices_of(about.matrices);
  source.optional_tensors = about.optional_tensors;
  source.learn();
  write_made_model(source, path, {.change = about.change});
}

// The mapping outlives the file's name.
inline std::shared_ptr<const Model> tiny_model(const TinyModel& about = {},
                                               const ModelOptions& options = {}) {
  static int n_made = 0;
  const auto path = std::filesystem::temp_directory_path() /
                    fmt::format("weft-tiny-{}-{}.gguf", getpid(), n_made++);
  struct Removed {
    std::filesystem::path path;
    ~Removed() { std::filesystem::remove(path); }
  } removed{path};
  write_tiny_model(about, path.string());
  return Model::load(path.string(), options);
}

}  // namespace weft::test
