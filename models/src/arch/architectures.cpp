#include <algorithm>
#include <vector>

#include "weft/graph/error.h"
#include "weft/models/builder.h"

#include "arch/text.h"

namespace weft {

extern const Architecture kLlama, kQwen2, kQwen3;

std::span<const Architecture> architectures() {
  static const Architecture list[] = {
      kLlama,
      kQwen2,
      kQwen3,
  };
  return list;
}

namespace {

// The known names with the fewest edits between them and `name`.
std::string nearest(std::string_view name) {
  std::size_t best = SIZE_MAX;
  std::string names;
  for (const Architecture& a : architectures()) {
    const std::size_t distance = edit_distance(a.name, name);
    if (distance < best) names.clear();
    if (distance > best) continue;
    best = distance;
    names += (names.empty() ? "" : ", ") + std::string(a.name);
  }
  return names;
}

}  // namespace

const Architecture& find_architecture(const ModelSource& source) {
  const auto name = source.find_string("general.architecture");
  if (!name) fail<FormatError>("{}: key 'general.architecture' is missing", source.file());
  const std::span<const Architecture> list = architectures();
  const auto found = std::ranges::find(list, *name, &Architecture::name);
  if (found != list.end()) return *found;
  const std::string shown = short_name(*name);
  fail<UnsupportedError>("{}: unsupported architecture '{}'; nearest known: {}", source.file(),
                         shown, nearest(shown));
}

Hparams configure(const ModelSource& source, const Architecture& architecture) {
  Hparams c = read_hparams(source, architecture.name);
  if (architecture.configure) architecture.configure(source, c);
  return c;
}

}  // namespace weft
