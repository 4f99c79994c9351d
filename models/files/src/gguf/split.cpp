#include "gguf/split.h"

#include <map>

#include "weft/base/error.h"
#include "weft/base/printable.h"

namespace weft::gguf {
namespace {

constexpr std::uint64_t kMaxParts = 99999;  // five digits in the name

std::string suffix(std::uint64_t index, std::uint64_t count) {
  return fmt::format("-{:05d}-of-{:05d}.gguf", index + 1, count);
}

std::optional<std::uint64_t> find_uint(const files::FilePart& part, std::string_view key,
                                       const std::string& path) {
  const MetaValue* value = part.find(key);
  if (!value) return std::nullopt;
  return files::to_uint(*value, key, path);
}

}  // namespace

Split read_split(const files::FilePart& first, const std::string& path) {
  Split split{.count = find_uint(first, "split.count", path).value_or(1),
              .tensors = find_uint(first, "split.tensors.count", path)};
  if (split.count <= 1) return {};
  if (split.count > kMaxParts) {
    fail<FormatError>("{}: key 'split.count' must be at most {}, got {}", printable_path(path),
                      kMaxParts, split.count);
  }
  const std::uint64_t number = find_uint(first, "split.no", path).value_or(0);
  if (number == 0) return split;
  const std::string own = number < split.count ? suffix(number, split.count) : "";
  if (!own.empty() && path.ends_with(own)) {
    const std::string name = path.substr(0, path.size() - own.size()) + suffix(0, split.count);
    fail<FormatError>("{}: part {} of {}; give the first part, {}", printable_path(path),
                      number + 1, split.count, printable_path(name));
  }
  fail<FormatError>("{}: part {} of {}; give the first part, whose name ends in '{}'",
                    printable_path(path), number + 1, split.count, suffix(0, split.count));
}

std::string part_path(const std::string& first, const Split& split, std::uint64_t index) {
  const std::string end = suffix(0, split.count);
  if (!first.ends_with(end)) {
    fail<FormatError>(
        "{}: part 1 of {}, but its name does not end in '{}', so the other parts cannot be "
        "found",
        printable_path(first), split.count, end);
  }
  return first.substr(0, first.size() - end.size()) + suffix(index, split.count);
}

void check_part(const files::FilePart& part, const Split& split, std::uint64_t index,
                const std::string& path) {
  const auto check = [&](std::string_view key, std::uint64_t expected) {
    const auto got = find_uint(part, key, path);
    if (got == expected) return;
    fail<FormatError>("{}: key '{}' must be {} in part {} of {}, got {}", printable_path(path), key,
                      expected, index + 1, split.count, got ? fmt::format("{}", *got) : "none");
  };
  check("split.no", index);
  check("split.count", split.count);
  if (split.tensors && part.find("split.tensors.count"))
    check("split.tensors.count", *split.tensors);
}

void check_distinct(const files::OpenedFiles& files) {
  std::map<std::string_view, std::int32_t> part_of;
  for (const CheckpointTensor& tensor : files.head.tensors) {
    const auto [first, is_new] = part_of.try_emplace(tensor.name, tensor.part);
    if (is_new || first->second == tensor.part) continue;
    const auto path = [&](std::int32_t part) {
      return printable_path(files.paths[static_cast<std::size_t>(part)]);
    };
    fail<FormatError>("{}: tensor '{}' is also in {}: these are not parts of one model",
                      path(tensor.part), printable(tensor.name), path(first->second));
  }
}

void check_tensor_count(std::size_t count, const Split& split, const std::string& path) {
  if (!split.tensors || *split.tensors == count) return;
  fail<FormatError>("{}: key 'split.tensors.count' says {}, but the {} parts have {} tensors",
                    printable_path(path), *split.tensors, split.count, count);
}

}  // namespace weft::gguf
