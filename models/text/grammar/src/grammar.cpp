#include "weft/grammar/grammar.h"

#include "engine.h"

namespace weft {
namespace {

using grammar::ConfigId;
using grammar::Engine;

// What an engine may remember of a text that is being read, before it forgets what is not needed
// any more.
constexpr std::size_t kMaxMemory = std::size_t{64} << 20;

}  // namespace

Grammar::Grammar(std::shared_ptr<const grammar::Program> program) : program_(std::move(program)) {}
Grammar::~Grammar() = default;

bool Grammar::accepts(std::string_view text) const {
  Engine engine(program_);
  ConfigId at = engine.start();
  std::size_t limit = kMaxMemory;
  for (const char c : text) {
    at = engine.step(at, static_cast<std::uint8_t>(c));
    if (at == Engine::kDead) return false;
    if (engine.memory() > limit) {
      at = engine.collect(at);
      limit = std::max(kMaxMemory, 2 * engine.memory());
    }
  }
  return engine.complete(at);
}

}  // namespace weft
