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
  std::int64_t heads = 4;  // each has 64 / heads elements
  std::int64_t layers = 2;
  bool optional_tensors = false;  // biases and other tensors that files may lack
  std::int64_t experts = 0;       // per layer that can have them; each token chooses two
  std::int64_t draft_layers = 0;  // behind the others
  // Called with the values of every tensor before they are encoded; may be empty.
  std::function<void(const std::string& name, std::vector<float>& values)> change;
};

inline void set_experts(arch::MadeSource& source, std::string_view arch, std::int64_t n) {
  const auto set = [&](std::string_view key, std::int64_t value) {
    source.keys[fmt::format("{}.{}", arch, key)] = value;
  };
  set("expert_count", n);
  set("expert_used_count", 2);
  set("expert_feed_forward_length", 32);
}

inline void write_tiny_model(const TinyModel& about, const std::string& path) {
  arch::MadeSource source(about.arch, {.L = about.layers + about.draft_layers, .H = about.heads});
  if (about.draft_layers > 0)
    source.keys[about.arch + ".nextn_predict_layers"] = about.draft_layers;
  source.type_of = arch::matrices_of(about.matrices);
  source.optional_tensors = about.optional_tensors;
  if (about.experts > 0) set_experts(source, about.arch, about.experts);
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
