// Hashes of everything on which the keys and values of a session depend.
#include <span>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "weft/backends/backend.h"
#include "weft/base/checksum.h"
#include "weft/base/printable.h"
#include "weft/files/identity.h"
#include "weft/run/saved_sequence.h"

namespace weft {
namespace {

// Increment it if a kernel gives other bits under the same name. tests/system/same_bits_test.py
// refuses other bits with the same version.
constexpr std::uint64_t kKernelsVersion = 2;

class ComputationHash {
 public:
  void add(std::string_view text) {
    add(text.size());
    sum_.add(std::as_bytes(std::span(text)));
  }
  template <class T>
  requires std::is_arithmetic_v<T>
  void add(T value) { sum_.add(std::as_bytes(std::span(&value, 1))); }

  std::uint64_t value() const { return sum_.value(); }

 private:
  Checksum sum_;
};

// Graphs of all widths give the same bits, so one of them is enough.
std::uint64_t computation_of(const Session& session, std::int32_t sequence) {
  ComputationHash hash;
  const Graph& graph = session.graph(0);
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (node.kind == NodeKind::input) continue;
    hash.add(node.path);
    hash.add(node.spec.dtype.plain().name());  // layouts of weights have the same bits
    for (const NodeId input : node.inputs) hash.add(input);
    if (node.op) hash.add(node.op->name);
    if (node.op) hash.add(node.attrs.to_json());
  }
  for (const PlanStep& step : session.plan(0).steps) {
    hash.add(step.path);
    hash.add(step.backend);
    hash.add(find_backend(step.backend).bits_of(step.kernel));
  }
  for (const float scale : session.lora_scales(sequence)) hash.add(scale);
  return hash.value();
}

std::uint64_t contents_of(const Session& session) {
  return session.model().identity().contents({.threads = session.options().workers});
}

}  // namespace

SequenceOrigin origin_of(const Session& session, std::int32_t sequence) {
  return {.kernels = kKernelsVersion,
          .description = session.model().identity().description(),
          .contents = contents_of(session),
          .computation = computation_of(session, sequence)};
}

std::string difference(const SequenceOrigin& saved, const Session& session, std::int32_t sequence) {
  const std::string model = printable_path(session.model().file().path());
  if (saved.kernels != kKernelsVersion) {
    return fmt::format(
        "was saved by another version of Weft: its kernels have version {}, expected {}",
        saved.kernels, kKernelsVersion);
  }
  if (const auto expected = session.model().identity().description();
      saved.description != expected) {
    return fmt::format(
        "was saved with another model than {}: the hash of its metadata is {:016x}, expected "
        "{:016x}",
        model, saved.description, expected);
  }
  if (const auto expected = computation_of(session, sequence); saved.computation != expected) {
    return fmt::format(
        "was saved with other adapters or scales, other cache types or other kernels: their hash "
        "is {:016x}, expected {:016x}",
        saved.computation, expected);
  }
  if (const auto expected = contents_of(session); saved.contents != expected) {
    return fmt::format(
        "was saved with other weights than those of {}: their checksum is {:016x}, expected "
        "{:016x}",
        model, saved.contents, expected);
  }
  return "";
}

}  // namespace weft
