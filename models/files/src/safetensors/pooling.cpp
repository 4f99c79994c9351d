#include "safetensors/pooling.h"

#include <filesystem>

#include "weft/base/error.h"
#include "weft/base/printable.h"

#include "safetensors/json.h"

namespace weft::safetensors {
namespace {

constexpr std::size_t kMaxPoolingConfig = std::size_t{1} << 20;

// Numbers of the key ARCH.pooling_type.
struct Pooling {
  const char* mode;
  std::uint32_t type;
};
constexpr Pooling kPoolings[] = {
    {"pooling_mode_mean_tokens", 1}, {"pooling_mode_cls_token", 2}, {"pooling_mode_lasttoken", 3}};

}  // namespace

void read_pooling(const std::string& directory, std::string_view arch, MetadataSink& sink) {
  const std::string path =
      (std::filesystem::path(directory) / "1_Pooling" / "config.json").string();
  const auto text = read_text(path, kMaxPoolingConfig);
  if (!text) return;
  const Json parsed = parse_json(*text, path);
  const JsonObject json(parsed, path);
  for (const Pooling& pooling : kPoolings) {
    if (!json.find_bool(pooling.mode).value_or(false)) continue;
    sink.add_u32(fmt::format("{}.pooling_type", arch), pooling.type);
    return;
  }
  fail<UnsupportedError>(
      "{}: none of 'pooling_mode_mean_tokens', 'pooling_mode_cls_token' and "
      "'pooling_mode_lasttoken' is true",
      printable_path(path));
}

}  // namespace weft::safetensors
