#include <deque>
#include <mutex>
#include <vector>

#include "weft/arch/builder.h"
#include "weft/base/error.h"
#include "weft/base/text.h"

#include "text.h"

namespace weft {

extern const Architecture kLlama, kQwen2, kQwen3;

namespace {

// The architectures of other projects. A deque, because models keep pointers to them.
struct Registered {
  std::mutex adding;  // taken first
  std::mutex mutex;
  std::deque<Architecture> list;
};
Registered& registered() {
  static Registered one;
  return one;
}

}  // namespace

std::vector<const Architecture*> architectures() {
  std::vector<const Architecture*> list{
      &kLlama,
      &kQwen2,
      &kQwen3,
  };
  const std::lock_guard lock(registered().mutex);
  for (const Architecture& a : registered().list) list.push_back(&a);
  return list;
}

void register_architecture(const Architecture& architecture) {
  if (architecture.name.empty() || !architecture.build)
    fail<ValueError>("an architecture needs a name and a build function");
  const std::lock_guard adding(registered().adding);
  for (const Architecture* a : architectures()) {
    if (a->name == architecture.name)
      fail<ValueError>("an architecture '{}' already exists", architecture.name);
  }
  const std::lock_guard lock(registered().mutex);
  registered().list.push_back(architecture);
}

namespace {

// The known names with the smallest edit distance to `name`.
std::string nearest(std::string_view name) {
  std::size_t best = SIZE_MAX;
  std::string names;
  for (const Architecture* a : architectures()) {
    const std::size_t distance = edit_distance(a->name, name);
    if (distance < best) names.clear();
    if (distance > best) continue;
    best = distance;
    names += (names.empty() ? "" : ", ") + std::string(a->name);
  }
  return names;
}

}  // namespace

const Architecture& find_architecture(const ModelSource& source) {
  const auto name = source.find_string("general.architecture");
  if (!name) fail<FormatError>("{}: key 'general.architecture' is missing", source.file());
  for (const Architecture* a : architectures()) {
    if (a->name == *name) return *a;
  }
  const std::string shown = arch::short_name(*name);
  fail<UnsupportedError>("{}: unsupported architecture '{}'; nearest known: {}", source.file(),
                         shown, nearest(shown));
}

Config configure(const ModelSource& source, const Architecture& architecture) {
  const Keys keys(source, architecture.name);
  if (architecture.configure) return architecture.configure(keys);
  return std::make_shared<const Hparams>(read_hparams(keys));
}

}  // namespace weft
