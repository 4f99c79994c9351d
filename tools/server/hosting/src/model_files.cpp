#include "weft/hosting/model_files.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <fmt/format.h>
#include <sys/stat.h>

#include "weft/base/error.h"

namespace weft::server {
namespace {

namespace fs = std::filesystem;

// "model-00002-of-00003": a file that the first one of the split names.
bool is_later_part(const std::string& stem) {
  constexpr std::string_view kForm = "-00000-of-00000";
  if (stem.size() < kForm.size()) return false;
  const std::string_view end = std::string_view(stem).substr(stem.size() - kForm.size());
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool digit = end[i] >= '0' && end[i] <= '9';
    if (kForm[i] == '0' ? !digit : end[i] != kForm[i]) return false;
  }
  return end.substr(1, 5) != "00001";
}

}  // namespace

ModelFile describe_file(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
  return {facts.st_size, facts.st_mtime};
}

std::string stem_of(const std::string& path) {
  fs::path p(path);
  if (!p.has_filename()) p = p.parent_path();
  return fs::is_directory(p) ? p.filename().string() : p.stem().string();
}

std::vector<HostedModel> models_below(const std::string& folder) {
  std::vector<HostedModel> models;
  std::error_code error;
  auto files = fs::recursive_directory_iterator(folder, error);
  for (; !error && files != fs::recursive_directory_iterator(); files.increment(error)) {
    const fs::path& path = files->path();
    if (path.extension() != ".gguf" || !fs::is_regular_file(path)) continue;
    if (is_later_part(path.stem().string())) continue;
    models.push_back({path.string(), {path.stem().string()}});
  }
  if (error) fail<IoError>("--models-dir: cannot read {}: {}", folder, error.message());
  if (models.empty()) fail<ValueError>("--models-dir: no GGUF files below {}", folder);
  std::ranges::sort(models, {}, &HostedModel::names);
  for (std::size_t i = 1; i < models.size(); ++i) {
    if (models[i].names == models[i - 1].names) {
      fail<ValueError>("--models-dir: {} and {} have the same name", models[i - 1].path,
                       models[i].path);
    }
  }
  return models;
}

}  // namespace weft::server
