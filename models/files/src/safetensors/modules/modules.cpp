#include "safetensors/modules/modules.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "weft/arch/dense_names.h"
#include "weft/base/error.h"
#include "weft/base/printable.h"

#include "safetensors/modules/dense_module.h"
#include "safetensors/optional_file.h"

namespace weft::safetensors {
namespace {

namespace fs = std::filesystem;

// Reads the list of modules.
class ModuleReader {
 public:
  ModuleReader(const std::string& directory, const std::string& file)
      : directory_(directory), file_(file) {}

  Modules read(const Json& list) {
    modules_.listed = true;
    if (!list.is_array()) fail<FormatError>("{}: must be a list", printable_path(file_));
    for (const Json& json : list) {
      add(JsonObject(json, file_, fmt::format("[{}]", number_)));
      ++number_;
    }
    if (number_ == 0) fail<FormatError>("{}: the list is empty", printable_path(file_));
    return std::move(modules_);
  }

 private:
  struct Kind {
    std::string_view name;
    void (ModuleReader::*add)(const fs::path& folder);
  };
  static constexpr std::string_view kPackage = "sentence_transformers.";

  template <class E = UnsupportedError, class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) const {
    throw E(fmt::format("{}: module {} '{}': ", printable_path(file_), number_, printable(name_)) +
            fmt::format(text, std::forward<Args>(args)...));
  }

  // Types were sentence_transformers.models.Dense, and became
  // sentence_transformers.base.modules.dense.Dense: only the class counts.
  void add(const JsonObject& json) {
    static constexpr Kind kKinds[] = {{"Transformer", &ModuleReader::add_transformer},
                                      {"Pooling", &ModuleReader::add_pooling},
                                      {"Dense", &ModuleReader::add_dense},
                                      {"Normalize", &ModuleReader::add_normalize},
                                      {"Dropout", &ModuleReader::add_nothing},
                                      {"LogitScore", &ModuleReader::add_logit_score}};
    const auto type = json.find_string("type");
    if (!type) json.mismatch("type", "the name of a class");
    name_ = type->substr(type->rfind('.') + 1);
    const auto* kind = std::ranges::find(kKinds, name_, &Kind::name);
    if (!type->starts_with(kPackage) || kind == std::end(kKinds)) {
      refuse(
          "type '{}' is not supported (supported: Transformer, Pooling, Dense, Normalize and "
          "Dropout of sentence_transformers)",
          printable(*type));
    }
    if (number_ == 0 && kind != std::begin(kKinds))
      refuse("the first module must be a Transformer");
    (this->*kind->add)(folder_of(json));
  }

  fs::path folder_of(const JsonObject& json) const {
    const fs::path path = json.find_string("path").value_or(std::string());
    if (path.is_absolute() || std::ranges::find(path, "..") != path.end())
      refuse<FormatError>("path '{}' must be below the directory", printable(path.string()));
    return path.empty() ? fs::path(directory_) : fs::path(directory_) / path;
  }

  void add_transformer(const fs::path& folder) {
    if (number_ > 0) refuse("must be the first module");
    modules_.transformer = folder.string();
    modules_.text = read_transformer_module(modules_.transformer);
  }

  void add_pooling(const fs::path& folder) {
    if (!modules_.pooling.empty()) refuse("there is another Pooling before it");
    if (!modules_.dense.empty() || modules_.normalizes)
      refuse("must come before Dense and Normalize");
    modules_.pooling = (folder / "config.json").string();
    std::error_code error;
    if (!fs::exists(modules_.pooling, error))
      refuse<FormatError>("'{}' is missing", printable_path(modules_.pooling));
  }

  void add_dense(const fs::path& folder) {
    if (modules_.normalizes) refuse("must come before Normalize");
    if (std::ssize(modules_.dense) == arch::kMaxDense)
      refuse("at most {} are supported", arch::kMaxDense);
    DenseModule dense = read_dense_module(folder.string(), !modules_.pooling.empty());
    dense.name = fmt::format("dense_{}", arch::kFirstDense + std::ssize(modules_.dense));
    modules_.dense.push_back(std::move(dense));
  }

  void add_normalize(const fs::path& folder) {
    check_normalize_module(folder.string(), !modules_.pooling.empty());
    modules_.normalizes = true;
  }

  // How a cross-encoder scores; it changes neither texts nor embeddings.
  void add_logit_score(const fs::path& folder) { modules_.scoring = folder.string(); }

  // Dropout acts in training only.
  void add_nothing(const fs::path& folder) { static_cast<void>(folder); }

  const std::string& directory_;
  const std::string& file_;
  std::size_t number_ = 0;  // number of the current module
  std::string name_;        // its class
  Modules modules_;
};

}  // namespace

Modules read_modules(const std::string& directory) {
  const OptionalFile file(directory, "modules.json");
  if (file.found()) return ModuleReader(directory, file.path()).read(file.json());
  Modules modules{.transformer = directory};
  const fs::path pooling = fs::path(directory) / "1_Pooling" / "config.json";
  std::error_code error;
  if (fs::exists(pooling, error)) modules.pooling = pooling.string();
  return modules;
}

}  // namespace weft::safetensors
