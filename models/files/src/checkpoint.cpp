#include "weft/files/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>
#include <utility>

#include "weft/base/checksum.h"
#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/gguf_types.h"
#include "weft/files/mapped_file.h"
#include "weft/files/rank_file.h"
#include "weft/files/weft_keys.h"

#include "file_part.h"
#include "gguf/experts.h"
#include "gguf/part.h"
#include "ranks/stored_parts.h"
#include "safetensors/directory.h"
#include "tensor_parts.h"

namespace weft {

struct Checkpoint::Impl {
  explicit Impl(files::OpenedFiles opened, std::vector<std::shared_ptr<const Impl>> viewed = {})
      : files(std::move(opened)),
        by_name(files::index_by_name(
            files.head.tensors, [](const CheckpointTensor& t) { return t.name; }, "tensor",
            files.paths.front())),
        sources(std::move(viewed)) {}

  files::OpenedFiles files;
  std::vector<std::uint32_t> by_name;
  std::vector<std::shared_ptr<const Impl>> sources;  // they own the data that `files` views

  // Adds the stamps of all files. False if one has none that can be relied on.
  bool add_stamps(Checksum& sum) const {
    if (files.maps.empty() && sources.empty()) return false;
    if (files.parts != 0) sum.add(std::as_bytes(std::span(&files.parts, 1)));
    for (const MappedFile& map : files.maps) {
      if (!map.stamp()) {
        sum.add(map.bytes());
        continue;
      }
      if (!map.stamp()->conclusive) return false;
      const FileStamp& s = *map.stamp();
      const std::uint64_t numbers[] = {s.device, s.inode, s.n_bytes,
                                       static_cast<std::uint64_t>(s.modified_ns),
                                       static_cast<std::uint64_t>(s.changed_ns)};
      sum.add(std::as_bytes(std::span(numbers)));
    }
    return std::ranges::all_of(sources, [&](const auto& s) { return s->add_stamps(sum); });
  }

  // Calls `check` with each mapped file and its path.
  template <class Check>
  void check_files(const Check& check) const {
    for (std::size_t i = 0; i < files.maps.size(); ++i) check(files.maps[i], files.paths[i]);
    for (const auto& source : sources) source->check_files(check);
  }
};

Checkpoint::Checkpoint(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Checkpoint Checkpoint::open(const std::string& path, const OpenOptions& options) {
  if (path.ends_with(".safetensors")) {
    fail<FormatError>("{}: holds only weights; give the directory that also contains config.json",
                      printable_path(path));
  }
  std::error_code error;
  const bool directory = std::filesystem::is_directory(path, error);
  if (const auto parts = rank_files_in(path); !parts.empty())
    return open((std::filesystem::path(path) / parts.front()).string(), options);
  Checkpoint opened(std::make_shared<const Impl>(
      directory ? safetensors::open_directory(path, options) : gguf::open_files(path)));
  opened.check_mapped();
  if (!options.rank_files && opened.find(kSplitShardingKey))
    fail<FormatError>(
        "{}: a part of a model that is divided among ranks (weft split-for), expected a whole "
        "model",
        printable_path(path));
  return opened;
}

void Checkpoint::check_mapped() const {
  if (n_missing_pages() == 0) return;
  impl_->check_files([](const MappedFile& map, const std::string& path) {
    if (map.failed()) refuse_missing_pages(path);
  });
}

void Checkpoint::check_unchanged() const {
  check_mapped();
  impl_->check_files([](const MappedFile& map, const std::string& path) {
    if (!map.was_written(path)) return;
    fail<IoError>(
        "{}: was written while it was in use; load it again, and replace model files by "
        "renaming, not by overwriting them",
        printable_path(path));
  });
}

Checkpoint Checkpoint::parse(std::span<const std::byte> bytes, const std::string& name) {
  files::OpenedFiles files{.paths = {name},
                           .maps = {},
                           .head = gguf::parse_whole(bytes, name),
                           .texts = nullptr,
                           .file_bytes = static_cast<std::int64_t>(bytes.size())};
  for (CheckpointTensor& tensor : files.head.tensors) tensor.lent = true;
  gguf::stack_experts(files);
  return Checkpoint(std::make_shared<const Impl>(std::move(files)));
}

namespace {

files::OpenedFiles parse_mapped(MappedFile mapped, const std::string& name) {
  files::OpenedFiles files;
  files.paths.push_back(name);
  const MappedFile& map = files.maps.emplace_back(std::move(mapped));
  files.head = gguf::parse_whole(map.bytes(), name);
  files.file_bytes = static_cast<std::int64_t>(map.bytes().size());
  gguf::stack_experts(files);
  return files;
}

}  // namespace

Checkpoint Checkpoint::parse(MappedFile file, const std::string& name) {
  Checkpoint opened(std::make_shared<const Impl>(parse_mapped(std::move(file), name)));
  opened.check_mapped();
  return opened;
}

namespace {

// The same files, without the owners of their bytes and texts.
files::OpenedFiles view_of(const files::OpenedFiles& files) {
  return {.paths = files.paths,
          .maps = {},
          .head = files.head,
          .texts = nullptr,
          .runs = nullptr,
          .is_directory = files.is_directory,
          .file_bytes = files.file_bytes,
          .stored = files.stored};
}

// `texts` owns the value.
MetaValue value_of(const KeyOverride& o, std::deque<std::string>& texts) {
  if (const auto* number = std::get_if<std::int64_t>(&o.value)) return {MetaType::int64, *number};
  if (const auto* number = std::get_if<double>(&o.value)) return {MetaType::float64, *number};
  if (const auto* flag = std::get_if<bool>(&o.value)) return {MetaType::boolean, *flag};
  const std::string_view text = texts.emplace_back(std::get<std::string>(o.value));
  return {MetaType::string, text};
}

}  // namespace

Checkpoint Checkpoint::with(std::span<const AddedTensor> added) const {
  files::OpenedFiles files = view_of(impl_->files);
  auto names = std::make_shared<std::deque<std::string>>();
  auto runs = std::make_shared<std::deque<std::vector<RowRun>>>();
  std::vector<std::shared_ptr<const Impl>> sources{impl_};
  std::vector<std::size_t> first_part{0};  // by source
  for (const AddedTensor& t : added) {
    const auto source = std::ranges::find(sources, t.from->impl_);
    const auto i = static_cast<std::size_t>(source - sources.begin());
    if (source == sources.end()) {
      const files::OpenedFiles& more = t.from->impl_->files;
      sources.push_back(t.from->impl_);
      first_part.push_back(files.paths.size());
      files.paths.insert(files.paths.end(), more.paths.begin(), more.paths.end());
      files.file_bytes += more.file_bytes;
    }
    CheckpointTensor& tensor = files.head.tensors.emplace_back(*t.tensor);
    tensor.name = names->emplace_back(t.name);
    const auto shift = static_cast<std::int32_t>(first_part[i]);
    tensor.part += shift;
    if (tensor.runs.empty()) continue;
    std::vector<RowRun>& moved = runs->emplace_back(tensor.runs.begin(), tensor.runs.end());
    for (RowRun& run : moved) run.part += shift;
    tensor.runs = moved;
  }
  files.texts = std::move(names);
  files.runs = std::move(runs);
  return Checkpoint(std::make_shared<const Impl>(std::move(files), std::move(sources)));
}

Checkpoint Checkpoint::with_keys(std::span<const KeyOverride> overrides) const {
  files::OpenedFiles files = view_of(impl_->files);
  auto texts = std::make_shared<std::deque<std::string>>();
  std::vector<MetaEntry>& entries = files.head.metadata;
  for (const KeyOverride& o : overrides) {
    const MetaValue value = value_of(o, *texts);
    const auto known = std::ranges::find(entries, o.key, &MetaEntry::key);
    if (known != entries.end())
      known->value = value;
    else
      entries.push_back({texts->emplace_back(o.key), value});
  }
  files.head.by_key = files::index_by_name(
      entries, [](const MetaEntry& e) { return e.key; }, "key", path());
  files.texts = std::move(texts);
  return Checkpoint(std::make_shared<const Impl>(std::move(files), std::vector{impl_}));
}

Checkpoint Checkpoint::with_parts(std::span<const TensorPart> parts) const {
  files::OpenedFiles files = view_of(impl_->files);
  auto names = std::make_shared<std::deque<std::string>>();
  auto runs = std::make_shared<std::deque<std::vector<RowRun>>>();
  std::vector<CheckpointTensor>& tensors = files.head.tensors;
  tensors.clear();
  for (const auto& [source, part] : files::in_file_order(*this, parts)) {
    std::vector<RowRun> moved;
    CheckpointTensor& tensor =
        tensors.emplace_back(source->absent ? files::find_part(impl_->files, *source, *part)
                                            : files::cut_part(*source, *part, moved));
    tensor.name = names->emplace_back(part->name);
    if (!moved.empty()) tensor.runs = runs->emplace_back(std::move(moved));
  }
  files.texts = std::move(names);
  files.runs = std::move(runs);
  files.parts = files::hash_parts(parts);
  return Checkpoint(std::make_shared<const Impl>(std::move(files), std::vector{impl_}));
}

Checkpoint model_of_rank_file(const Checkpoint& file) {
  files::OpenedFiles files = view_of(file.impl_->files);
  files::present_model(file, files);
  return Checkpoint(
      std::make_shared<const Checkpoint::Impl>(std::move(files), std::vector{file.impl_}));
}

const std::string& Checkpoint::path() const {
  return impl_->files.paths.front();
}
bool Checkpoint::is_directory() const {
  return impl_->files.is_directory;
}
std::uint32_t Checkpoint::version() const {
  return impl_->files.head.version;
}
std::uint64_t Checkpoint::alignment() const {
  return impl_->files.head.alignment;
}
std::int64_t Checkpoint::file_bytes() const {
  return impl_->files.file_bytes;
}
std::optional<std::uint64_t> Checkpoint::stamp() const {
  Checksum sum;
  if (!impl_->add_stamps(sum)) return std::nullopt;
  return sum.value();
}
std::span<const std::string> Checkpoint::part_paths() const {
  return impl_->files.paths;
}
bool Checkpoint::is_at_path(std::int32_t part) const {
  const std::string& path = impl_->files.paths[static_cast<std::size_t>(part)];
  bool found = false;
  impl_->check_files([&](const MappedFile& map, const std::string& of_map) {
    found = found || (of_map == path && map.is_at(path));
  });
  return found;
}
std::span<const MetaEntry> Checkpoint::metadata() const {
  return impl_->files.head.metadata;
}
std::span<const CheckpointTensor> Checkpoint::tensors() const {
  return impl_->files.head.tensors;
}
void check_output(const Checkpoint& file, const std::string& path) {
  std::error_code error;
  bool own = false;
  for (const std::string& part : file.part_paths())
    own = own || std::filesystem::equivalent(part, path, error);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  own = own || (file.is_directory() && std::filesystem::is_regular_file(path, error) &&
                std::filesystem::equivalent(file.path(), folder.empty() ? "." : folder, error));
  if (own) fail<ValueError>("{}: the output must not be a file of the input", path);
}

const MetaValue* Checkpoint::find(std::string_view key) const {
  return impl_->files.head.find(key);
}

const CheckpointTensor* Checkpoint::find_tensor(std::string_view name) const {
  const auto& tensors = impl_->files.head.tensors;
  const auto found =
      std::lower_bound(impl_->by_name.begin(), impl_->by_name.end(), name,
                       [&](std::uint32_t i, std::string_view n) { return tensors[i].name < n; });
  if (found == impl_->by_name.end() || tensors[*found].name != name) return nullptr;
  return &tensors[*found];
}

void Checkpoint::require_format(const CheckpointTensor& tensor) const {
  if (is_supported(tensor.spec.dtype)) return;
  fail<UnsupportedError>("{}: tensor '{}' has type {}, which is not supported yet (supported: {})",
                         printable_path(impl_->files.paths[static_cast<std::size_t>(tensor.part)]),
                         printable(tensor.name), tensor.spec.dtype.name(), gguf::supported_types());
}

}  // namespace weft
