#include "safetensors/shards.h"

#include <filesystem>
#include <map>

#include "weft/base/error.h"
#include "weft/base/keyed_hash.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"

#include "safetensors/json.h"

namespace weft::safetensors {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr std::size_t kMaxIndex = std::size_t{64} << 20;
constexpr std::size_t kMaxShards = 4096;

// Maps tensors to shards, as in the index. Shards must be files in the directory itself.
std::map<std::string, std::string> read_index(const std::string& path, const std::string& text) {
  const Json json = parse_json(text, path, /*distinct_keys=*/true);
  const auto weights = JsonObject(json, path).find_object("weight_map");
  if (!weights) fail<FormatError>("{}: 'weight_map' is missing", printable_path(path));
  std::map<std::string, std::string> index;
  for (const auto& [tensor, shard] : weights->json().items()) {
    if (!shard.is_string()) weights->mismatch(tensor, "the name of a file");
    const auto& name = shard.get_ref<const std::string&>();
    if (fs::path(name).filename() != name || !name.ends_with(".safetensors")) {
      fail<FormatError>("{}: tensor '{}' must be in a file of this directory, got '{}'",
                        printable_path(path), printable(tensor), printable(name));
    }
    index.emplace(tensor, name);
  }
  if (index.empty()) fail<FormatError>("{}: 'weight_map' is empty", printable_path(path));
  return index;
}

std::vector<Shard> open_indexed(const fs::path& directory,
                                const std::map<std::string, std::string>& index,
                                const std::string& index_path) {
  std::map<std::string, std::string> first_tensor;  // by shard, for messages
  for (const auto& [tensor, name] : index) first_tensor.emplace(name, tensor);
  if (first_tensor.size() > kMaxShards) {
    fail<FormatError>("{}: names {} shards, at most {} are supported", printable_path(index_path),
                      first_tensor.size(), kMaxShards);
  }
  std::vector<Shard> shards;
  for (const auto& [name, tensor] : first_tensor) {
    const fs::path path = directory / name;
    std::error_code error;
    if (!fs::exists(path, error)) {
      fail<IoError>("{}: shard '{}' is missing, but '{}' places tensor '{}' in it",
                    printable_path(directory.string()), printable(name), kIndex, printable(tensor));
    }
    shards.push_back(open_shard(path.string()));
  }
  return shards;
}

// Checks that every tensor exists once, and that the index names the right shard for each.
void check_names(const std::vector<Shard>& shards, const std::map<std::string, std::string>& index,
                 const std::string& index_path) {
  ForeignMap<std::string_view, const Shard*> places;
  for (const Shard& shard : shards) {
    for (const StoredTensor& tensor : shard.tensors) {
      const auto [it, fresh] = places.emplace(tensor.name, &shard);
      if (fresh) continue;
      fail<FormatError>("{}: tensor '{}' is also in '{}'", printable_path(shard.path),
                        printable(tensor.name), printable_path(it->second->path));
    }
  }
  for (const auto& [tensor, name] : index) {
    const auto it = places.find(tensor);
    if (it != places.end() && fs::path(it->second->path).filename() == name) continue;
    fail<FormatError>("{}: tensor '{}' is not in shard '{}'", printable_path(index_path),
                      printable(tensor), printable(name));
  }
}

}  // namespace

Shard open_shard(const std::string& path) {
  Shard shard{.path = path, .map = MappedFile(path), .tensors = {}};
  shard.tensors = parse_header(shard.map.bytes(), shard.path);
  return shard;
}

std::vector<Shard> open_shards(const std::string& directory) {
  const fs::path folder = directory;
  std::error_code error;
  std::vector<Shard> shards;
  if (fs::exists(folder / kSingle, error)) {
    shards.push_back(open_shard((folder / kSingle).string()));
    return shards;
  }
  const std::string index_path = (folder / kIndex).string();
  const auto text = read_text(index_path, kMaxIndex);
  if (!text) {
    fail<IoError>("{}: a directory with neither '{}' nor '{}'", printable_path(directory), kSingle,
                  kIndex);
  }
  const auto index = read_index(index_path, *text);
  shards = open_indexed(folder, index, index_path);
  check_names(shards, index, index_path);
  return shards;
}

}  // namespace weft::safetensors
