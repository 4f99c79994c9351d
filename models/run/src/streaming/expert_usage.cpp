#include "streaming/expert_usage.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>

#include "weft/base/checksum.h"
#include "weft/base/error.h"
#include "weft/files/cursor.h"
#include "weft/files/identity.h"
#include "weft/files/mapped_file.h"
#include "weft/files/output_file.h"

namespace weft::run {
namespace {

constexpr std::string_view kMagic = "weftexp1";

template <class T>
void add(std::vector<std::byte>& bytes, const T& value) {
  const auto more = std::as_bytes(std::span(&value, 1));
  bytes.insert(bytes.end(), more.begin(), more.end());
}

// Throws unless the file is missing, empty or a usage of experts.
void check_kind(const std::string& path) {
  std::array<char, kMagic.size()> begin{};
  std::ifstream in(path, std::ios::binary);
  if (!in) return;
  in.read(begin.data(), begin.size());
  if (in.gcount() > 0 && std::string_view(begin.data(), begin.size()) != kMagic)
    fail<FormatError>("{}: is not a usage of experts, so it is not replaced", path);
}

std::vector<float> read_group(gguf::Cursor& in, std::int64_t n_experts) {
  const auto n = in.read<std::uint32_t>("number of experts");
  if (n != n_experts) in.fail_here("expected {} experts, got {}", n_experts, n);
  std::vector<float> frequencies(n);
  for (float& f : frequencies) {
    f = in.read<float>("frequency");
    if (!(f >= 0 && f <= 1)) in.fail_here("a frequency must be 0 to 1, got {}", f);
  }
  return frequencies;
}

}  // namespace

ExpertUsage read_usage(const std::string& path, const Checkpoint& file,
                       const Residency& residency) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return {};
  const MappedFile mapped(path);
  const std::span<const std::byte> bytes = mapped.bytes();
  gguf::Cursor in(bytes, path);
  const auto magic = in.take(kMagic.size(), 1, "magic");
  const bool known = std::memcmp(magic.data(), kMagic.data(), kMagic.size()) == 0;
  if (!known || in.read<std::uint64_t>("model") != tensor_table(file))
    fail<FormatError>("{}: is not the usage of experts of {}", path, file.path());
  const auto n_groups = in.read<std::uint32_t>("number of groups");
  if (n_groups != residency.groups.size())
    in.fail_here("expected {} groups of experts, got {}", residency.groups.size(), n_groups);
  ExpertUsage usage;
  for (const ExpertGroup& group : residency.groups)
    usage.push_back(read_group(in, group.n_experts));
  const std::uint64_t sum = checksum(bytes.first(static_cast<std::size_t>(in.offset())));
  if (in.read<std::uint64_t>("checksum") != sum || in.remaining() != 0)
    fail<FormatError>("{}: is damaged: it does not have its checksum", path);
  return usage;
}

void write_usage(const std::string& path, const Checkpoint& file, const ExpertUsage& usage) {
  check_kind(path);
  std::vector<std::byte> bytes;
  for (const char c : kMagic) add(bytes, c);
  add(bytes, tensor_table(file));
  add(bytes, static_cast<std::uint32_t>(usage.size()));
  for (const std::vector<float>& group : usage) {
    add(bytes, static_cast<std::uint32_t>(group.size()));
    for (const float frequency : group) add(bytes, frequency);
  }
  add(bytes, checksum(bytes));
  OutputFile out(path, Readers::owner);
  out.write(bytes);
  out.commit();
}

}  // namespace weft::run
