#pragma once
// A model file as builder code sees it.

#include <map>
#include <string>
#include <string_view>

#include "weft/arch/hparams.h"
#include "weft/files/checkpoint.h"

namespace weft::run {

class CheckpointSource : public arch::ModelSource {
 public:
  explicit CheckpointSource(Checkpoint file) : file_(std::move(file)) {}
  // A source with further tensors: those that `model` has look as they do there. Messages about
  // what is missing name `path`. `model` outlives it.
  CheckpointSource(Checkpoint file, const CheckpointSource& model, std::string path)
      : file_(std::move(file)), path_(std::move(path)), retyped_(model.retyped_) {}

  const Checkpoint& checkpoint() const { return file_; }
  // Presents the tensor of this name as one of another type.
  void retype(std::string_view name, const TensorSpec& spec) { retyped_[name] = spec; }

  std::string_view file() const override { return path_.empty() ? file_.path() : path_; }
  std::string_view file_of(std::string_view tensor) const override {
    const CheckpointTensor* found = file_.find_tensor(tensor);
    return found ? file_.part_paths()[static_cast<std::size_t>(found->part)] : file_.path();
  }
  std::optional<std::uint64_t> find_uint(std::string_view key) const override {
    return file_.find_uint(key);
  }
  std::optional<double> find_float(std::string_view key) const override {
    return file_.find_float(key);
  }
  std::optional<bool> find_bool(std::string_view key) const override {
    return file_.find_bool(key);
  }
  std::optional<std::string_view> find_string(std::string_view key) const override {
    return file_.find_string(key);
  }
  std::vector<std::int64_t> find_ints(std::string_view key) const override {
    if (array_size(key) > 0) {
      const MetaValue& value = *file_.find(key);
      const auto& array = *std::get<std::shared_ptr<const MetaArray>>(value.value);
      if (array.element != MetaType::boolean) return *file_.find_ints(key);
      const std::vector<bool> flags = *file_.find_bools(key);
      return {flags.begin(), flags.end()};
    }
    const auto value = file_.find_int(key);
    return value ? std::vector{*value} : std::vector<std::int64_t>{};
  }
  std::vector<float> find_floats(std::string_view key) const override {
    if (array_size(key) > 0) return *file_.find_floats(key);
    const auto value = file_.find_float(key);
    return value ? std::vector{static_cast<float>(*value)} : std::vector<float>{};
  }
  std::int64_t array_size(std::string_view key) const override {
    const MetaValue* value = file_.find(key);
    if (!value || value->type != MetaType::array) return 0;
    return static_cast<std::int64_t>(
        std::get<std::shared_ptr<const MetaArray>>(value->value)->size());
  }
  const TensorSpec* find_tensor(std::string_view name) const override {
    if (const auto it = retyped_.find(name); it != retyped_.end()) return &it->second;
    const CheckpointTensor* tensor = file_.find_tensor(name);
    return tensor ? &tensor->spec : nullptr;
  }
  std::vector<std::string_view> tensor_names() const override {
    std::vector<std::string_view> names;
    for (const CheckpointTensor& tensor : file_.tensors()) names.push_back(tensor.name);
    return names;
  }

 private:
  Checkpoint file_;
  std::string path_;                                // empty: the file's
  std::map<std::string_view, TensorSpec> retyped_;  // names view the file
};

}  // namespace weft::run
