#pragma once
// For tests: model files with random weights, whose tensors and keys can be changed.

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "weft/files/checkpoint.h"
#include "weft/files/gguf_writer.h"
#include "weft/files/made_model.h"

#include "support/error_text.h"
#include "support/session_steps.h"
#include "support/temp_folder.h"

namespace weft::test {

using Floats = std::vector<float>;

struct Data {
  Shape shape;
  Floats values;

  std::int64_t rows() const { return shape[0].bound; }
  // [begin, end) of the first dimension.
  Data part(std::int64_t begin, std::int64_t end) const {
    const std::int64_t each = std::ssize(values) / rows();
    std::vector<Dim> dims(shape.begin(), shape.end());
    dims[0] = end - begin;
    return {Shape(dims), Floats(values.begin() + begin * each, values.begin() + end * each)};
  }
};

// One behind the other along the first dimension.
inline Data stacked(const std::vector<Data>& parts) {
  Data all = parts.front();
  std::vector<Dim> dims(all.shape.begin(), all.shape.end());
  for (std::size_t i = 1; i < parts.size(); ++i) {
    dims[0] = dims[0].bound + parts[i].rows();
    all.values.insert(all.values.end(), parts[i].values.begin(), parts[i].values.end());
  }
  all.shape = Shape(dims);
  return all;
}

// A model file in memory, to be changed and written.
struct Variant {
  std::vector<std::pair<std::string, MetaValue>> keys;
  std::map<std::string, Data> tensors;
  std::shared_ptr<const Checkpoint> file;  // owns the texts of `keys`

  Data take(const std::string& name) {
    Data data = tensors.at(name);
    tensors.erase(name);
    return data;
  }
  bool has(const std::string& name) const { return tensors.contains(name); }
  void set(const std::string& key, const MetaValue& value) {
    for (auto& [name, old] : keys) {
      if (name != key) continue;
      old = value;
      return;
    }
    keys.emplace_back(key, value);
  }
  std::uint64_t number(const std::string& key) const { return file->find_uint(key).value(); }

  GgufWriter writer(const std::vector<std::string>& names) const {
    GgufWriter writer;
    for (const std::string& name : names) {
      const Data& data = tensors.at(name);
      writer.add_tensor(name, {f32, data.shape}, std::as_bytes(std::span(data.values)));
    }
    return writer;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& [name, data] : tensors) all.push_back(name);
    return all;
  }
  void write(const std::string& path) const {
    GgufWriter whole = writer(names());
    for (const auto& [key, value] : keys) whole.add(key, value);
    whole.write(path);
  }
  // In parts of about the same number of tensors.
  void write_parts(const std::string& prefix, std::size_t n) const {
    const std::vector<std::string> all = names();
    for (std::size_t i = 0; i < n; ++i) {
      const auto at = [&](std::size_t part) {
        return all.begin() + static_cast<std::ptrdiff_t>(part * all.size() / n);
      };
      GgufWriter part = writer({at(i), at(i + 1)});
      for (const auto& [key, value] : keys) {
        if (i == 0) part.add(key, value);
      }
      part.add("split.no", {MetaType::uint16, std::uint64_t{i}});
      part.add("split.count", {MetaType::uint16, std::uint64_t{n}});
      part.add_i32("split.tensors.count", static_cast<std::int32_t>(all.size()));
      part.write(fmt::format("{}-{:05d}-of-{:05d}.gguf", prefix, i + 1, n));
    }
  }
};

using Keys = std::map<std::string, arch::MadeSource::Value>;

struct About {
  std::string arch;
  Keys keys = {};
  std::vector<std::string> optional = {};  // endings of tensors
  arch::MadeSizes sizes = {};
};

class Files {
 public:
  Variant made(const About& about) {
    arch::MadeSource source(about.arch, about.sizes);
    for (const auto& [key, value] : about.keys) source.set(key, value);
    source.optional_endings = about.optional;
    source.learn();
    const std::string written = path();
    write_made_model(source, written);
    Variant variant;
    variant.file = std::make_shared<const Checkpoint>(Checkpoint::open(written));
    for (const MetaEntry& entry : variant.file->metadata())
      variant.keys.emplace_back(entry.key, entry.value);
    for (const CheckpointTensor& t : variant.file->tensors()) {
      Floats values(static_cast<std::size_t>(t.n_bytes) / sizeof(float));
      std::memcpy(values.data(), t.data, values.size() * sizeof(float));
      variant.tensors[std::string(t.name)] = {t.spec.shape, std::move(values)};
    }
    return variant;
  }
  // A new one with every call.
  std::string path() { return (folder_ / fmt::format("{}.gguf", n_++)).string(); }
  Floats logits(const Variant& variant) {
    const std::string file = path();
    variant.write(file);
    return logits(file);
  }
  static Floats logits(const std::string& path) {
    const auto ids = some_tokens(9);
    Session session(Model::load(path),
                    {.context = 64, .workers = 1, .cache_k = f32, .cache_v = f32});
    return all_logits(session, ids, ids.size());
  }
  std::string error(const Variant& variant) {
    const std::string file = path();
    variant.write(file);
    return text_of([&] { Model::load(file); }).substr(file.size());
  }
  const TempFolder& folder() const { return folder_; }

 private:
  TempFolder folder_;
  int n_ = 0;
};

}  // namespace weft::test
