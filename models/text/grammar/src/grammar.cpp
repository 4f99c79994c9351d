#include "weft/grammar/grammar.h"

#include "weft/base/error.h"
#include "weft/base/no_destructor.h"

#include "compile_work.h"
#include "matcher.h"
#include "schema/schema.h"
#include "schema/schema_cache.h"

namespace weft {
namespace {

using grammar::ConfigId;
using grammar::Matcher;

// The memory of a matcher above which it frees unneeded configurations.
constexpr std::size_t kMaxMemory = std::size_t{64} << 20;

// The bytes of the schemas and grammars that are kept.
constexpr std::size_t kMaxSchemas = std::size_t{16} << 20;

}  // namespace

Grammar::Grammar(std::shared_ptr<const grammar::CompiledGrammar> compiled)
    : compiled_(std::move(compiled)) {
  taken_.require(static_cast<std::int64_t>(compiled_->n_bytes()));
}
Grammar::~Grammar() = default;

std::shared_ptr<const Grammar> Grammar::from_json_schema(std::string_view schema,
                                                         const JsonSchemaOptions& options) {
  static NoDestructor<grammar::SchemaCache> cache(kMaxSchemas);
  const grammar::DefaultLimits limits;
  const auto compile = [&] {
    const auto compiled =
        std::make_shared<const grammar::CompiledGrammar>(grammar::compile_schema(schema, options));
    try {
      return std::make_shared<Grammar>(compiled);
    } catch (const LedgerError&) {  // those that are only remembered make room
      cache->clear();
      return std::make_shared<Grammar>(compiled);
    }
  };
  return cache->get(schema, options, compile, grammar::CompileWork::scope());
}

std::shared_ptr<const Grammar> Grammar::from_gbnf(std::string_view text) {
  return from_gbnf(text, {});
}

// A new root: the bytes of the prefix, then a call of the old root.
std::shared_ptr<const Grammar> Grammar::with_prefix(std::string_view prefix,
                                                    const Grammar& grammar) {
  const bool may_be_empty = grammar.accepts("");
  grammar::CompiledGrammar p = *grammar.compiled();
  const auto first = static_cast<grammar::StateId>(p.n_states());
  const auto call = static_cast<grammar::StateId>(first + prefix.size());
  const grammar::StateId end = call + 1;
  for (grammar::StateId s = first; s <= end; ++s) {
    if (s < call) {
      const auto byte = static_cast<std::uint8_t>(prefix[s - first]);
      p.bytes.items.push_back({byte, byte, s + 1});
    }
    if (s == call) p.calls.items.push_back({p.root, end});
    if (s == call && may_be_empty) p.skips.items.push_back(end);
    p.bytes.begin.push_back(static_cast<std::uint32_t>(p.bytes.items.size()));
    p.calls.begin.push_back(static_cast<std::uint32_t>(p.calls.items.size()));
    p.tokens.begin.push_back(static_cast<std::uint32_t>(p.tokens.items.size()));
    p.skips.begin.push_back(static_cast<std::uint32_t>(p.skips.items.size()));
    p.ends.push_back(s == end);
    p.only_ends.push_back(s == end);
  }
  p.root = static_cast<grammar::RuleId>(p.rules.size());
  p.rules.push_back({first, 0});
  return std::make_shared<Grammar>(std::make_shared<const grammar::CompiledGrammar>(std::move(p)));
}

bool Grammar::accepts(std::string_view text) const {
  Matcher matcher(compiled_);
  ConfigId at = matcher.start();
  std::size_t limit = kMaxMemory;
  for (const char c : text) {
    at = matcher.step(at, static_cast<std::uint8_t>(c));
    if (at == Matcher::kDead) return false;
    if (matcher.used().bytes > limit) {
      at = matcher.collect(at);
      limit = std::max(kMaxMemory, 2 * matcher.used().bytes);
    }
  }
  return matcher.may_end(at);
}

}  // namespace weft
