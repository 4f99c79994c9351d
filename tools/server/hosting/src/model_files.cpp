#include "weft/hosting/model_files.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <sys/stat.h>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/base/utf8.h"
#include "weft/files/checkpoint.h"

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

std::string stem(const fs::path& path) {
  return path.stem().string();
}

// The paths of GGUF files that may be models. Names that are not UTF-8 cannot be in JSON: they go
// to `skipped`.
std::vector<fs::path> files_below(const std::string& folder, std::vector<std::string>& skipped) {
  std::vector<fs::path> paths;
  std::error_code error;
  auto files = fs::recursive_directory_iterator(folder, error);
  for (; !error && files != fs::recursive_directory_iterator(); files.increment(error)) {
    const fs::path& path = files->path();
    const bool hidden = path.filename().string().starts_with('.');
    if (hidden) files.disable_recursion_pending();
    std::error_code gone;
    if (hidden || path.extension() != ".gguf" || !fs::is_regular_file(path, gone)) continue;
    if (is_later_part(stem(path))) continue;
    if (is_utf8(path.lexically_relative(folder).string()))
      paths.push_back(path);
    else
      skipped.push_back(path.string());
  }
  if (error) fail<IoError>("--models-dir: cannot read {}: {}", folder, error.message());
  return paths;
}

// Whether a file belongs to models but is none: what reads pictures, an adapter, an importance
// matrix. Throws like Checkpoint::open().
bool is_part_of_a_model(const std::string& path) {
  const Checkpoint file = Checkpoint::open(path);
  if (file.find_string("general.architecture") == "clip") return true;
  const auto type = file.find_string("general.type");
  return type == "mmproj" || type == "adapter" || type == "imatrix";
}

// Models whose stems are equal are named by their paths from the folder on, without the extension.
void give_own_names(std::vector<HostedModel>& models, const std::string& folder) {
  std::map<std::string, int> n_files;
  for (const HostedModel& model : models) ++n_files[model.names.front()];
  for (HostedModel& model : models) {
    if (n_files[model.names.front()] > 1)
      model.names = {
          fs::path(model.path).lexically_relative(folder).replace_extension().generic_string()};
  }
  std::ranges::sort(models, {}, &HostedModel::names);
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

std::vector<HostedModel> models_below(const std::string& folder,
                                      const std::function<void(std::string_view)>& warn) {
  std::vector<std::string> skipped, unreadable;
  std::vector<HostedModel> models;
  for (const fs::path& path : files_below(folder, skipped)) {
    try {
      if (!is_part_of_a_model(path.string())) models.push_back({path.string(), {stem(path)}});
    } catch (const Error& error) {
      unreadable.push_back(fmt::format("{}: {}", printable_path(path.string()), error.what()));
    }
  }
  if (!unreadable.empty() && warn) {
    warn(fmt::format("--models-dir: left out {} {} cannot be read: {}", unreadable.size(),
                     unreadable.size() == 1 ? "file that" : "files that", unreadable.front()));
  }
  if (!skipped.empty() && warn) {
    warn(fmt::format("--models-dir: left out {} {} not UTF-8: {}", skipped.size(),
                     skipped.size() == 1 ? "file whose name is" : "files whose names are",
                     printable_path(skipped.front())));
  }
  if (models.empty()) fail<ValueError>("--models-dir: no GGUF files of models below {}", folder);
  give_own_names(models, folder);
  return models;
}

}  // namespace weft::server
