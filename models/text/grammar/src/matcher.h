#pragma once
// Reads bytes by a compiled grammar. Keeps all ways to read the text so far; their stacks share
// common parts: a frame is "rule R was called here" with every place to continue after it. Frames
// and configurations with the same content are the same object, so that transitions are computed
// once, and shared by texts that leave the same choices. Time and memory per byte are bounded by
// the number of open ways, not by the number of parses.

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiled_grammar.h"

namespace weft::grammar {

using FrameId = std::uint32_t;
using ConfigId = std::uint32_t;

struct Item {
  StateId state;
  FrameId frame;
  bool operator==(const Item&) const = default;
  auto operator<=>(const Item&) const = default;
};

class Matcher {
 public:
  static constexpr ConfigId kDead = 0;
  static constexpr FrameId kBottom = 0;  // below the root
  // Below a state that is examined without its callers: a text that ends there has `escaped`.
  static constexpr FrameId kHole = 1;

  explicit Matcher(std::shared_ptr<const CompiledGrammar> compiled);

  ConfigId start();
  // The configuration after `byte`; kDead if it is not allowed. Throws BudgetError if too many ways
  // are open at the same time.
  ConfigId step(ConfigId config, std::uint8_t byte) {
    const Config& c = configs_.data()[config];
    if (c.next) {
      const ConfigId known = c.next->data()[byte];
      if (known != kUnknown) return known;
    }
    return compute_step(config, byte);
  }
  ConfigId step_token(ConfigId config, std::int32_t token);
  ConfigId feed(ConfigId config, std::string_view bytes);

  // REQUIRES, here as everywhere: a configuration of this matcher since the last collect().
  bool may_end(ConfigId config) const { return configs_.data()[config].complete; }
  bool escaped(ConfigId config) const { return configs_.data()[config].escaped; }
  // Whether a byte or a token may follow.
  bool may_continue(ConfigId config) const { return !configs_.data()[config].items.empty(); }
  const std::vector<Item>& items(ConfigId config) const { return configs_[config].items; }

  // A configuration of one state without callers.
  ConfigId alone(StateId state);
  // The configuration after the end of a frame's rule.
  ConfigId after(FrameId frame);

  struct TokenChoice {
    std::int32_t token;
    bool negated;
  };
  std::vector<TokenChoice> token_choices(ConfigId config);
  // The only byte that may follow, or -1.
  int only_byte(ConfigId config);

  // The bytes that must come next, as far as it takes little work to find them.
  std::string forced(ConfigId config, std::size_t max_bytes);
  // The union of two configurations.
  ConfigId unite(ConfigId a, ConfigId b);

  // Frees everything that `keep` does not need; ids change. Call it when used().bytes is large.
  ConfigId collect(ConfigId keep);
  struct Used {
    std::size_t bytes = 0;
    // So far, of some ten nanoseconds each: the items that were looked at. One call of step() takes
    // at most some hundred thousand.
    std::uint64_t steps = 0;
  };
  const Used& used() const { return used_; }
  std::uint64_t epoch() const { return epoch_; }  // counts collect()
  const CompiledGrammar& compiled() const { return *compiled_; }

 private:
  static constexpr ConfigId kUnknown = ~ConfigId{0};
  using Table = std::array<ConfigId, 256>;
  struct Config {
    std::vector<Item> items;  // sorted; those that read something, calls not followed
    bool complete = false;
    bool escaped = false;
    bool expanded = false;
    std::vector<Item> readers;  // those that read a byte or a token, calls followed
    std::bitset<256> bytes;     // that some of them read
    // Whether expanding it took much work, and which steps from it did. This depends on the
    // configuration alone, not on what was read before.
    bool costly = false;
    std::bitset<256> costly_steps;
    std::unique_ptr<Table> next;
  };
  // A set of items that is cleared in constant time.
  class Marks {
   public:
    bool insert(const Item& item);
    void clear();

   private:
    std::vector<std::pair<std::uint64_t, std::uint32_t>> slots_;
    std::uint32_t round_ = 0;
    std::size_t n_ = 0;
  };

  void reset();
  ConfigId compute_step(ConfigId config, std::uint8_t byte);
  ConfigId close();  // the configuration of pending_
  ConfigId intern(Config config);
  FrameId frame(std::vector<Item> parents);
  void expand(ConfigId config);
  void gather_calls(StateId state, FrameId frame);

  std::shared_ptr<const CompiledGrammar> compiled_;
  std::vector<std::vector<Item>> frames_;  // parents: the state to continue with, and its frame
  std::vector<Config> configs_;
  std::unordered_multimap<std::uint64_t, FrameId> frame_index_;
  std::unordered_multimap<std::uint64_t, ConfigId> config_index_;
  Used used_;
  std::uint64_t epoch_ = 0;

  std::vector<Item> pending_;
  Marks marks_;
  std::vector<std::pair<std::uint32_t, RuleId>> ranks_;  // a heap, lowest rank first
  std::unordered_map<RuleId, std::vector<Item>> callers_;
};

}  // namespace weft::grammar
