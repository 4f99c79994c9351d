#include "matcher.h"

#include <algorithm>
#include <limits>

#include "weft/base/error.h"

namespace weft::grammar {
namespace {

// Limit of parallel ways to read a text. Grammars in use have some dozens.
constexpr std::size_t kMaxWays = 100'000;
// Ways that are followed for one byte, also those that lead to the same place.
constexpr std::size_t kMaxFollowed = 4 * kMaxWays;

// Work of a byte beyond which nothing is read ahead.
constexpr std::uint64_t kCostly = 1000;

std::uint64_t hash_of(const std::vector<Item>& items, std::uint64_t seed) {
  std::uint64_t h = seed;
  for (const Item& item : items) {
    h ^= (std::uint64_t{item.state} << 32) | item.frame;
    h *= 0x9E3779B97F4A7C15u;
    h ^= h >> 29;
  }
  return h;
}

// The bytes that some of them read. Adds to `steps`.
std::bitset<256> bytes_of(const std::vector<Item>& readers, const CompiledGrammar& grammar,
                          std::uint64_t& steps) {
  std::bitset<256> bytes;
  for (const Item& item : readers) {
    for (const ByteEdge& edge : grammar.bytes.of(item.state)) {
      ++steps;
      for (unsigned byte = edge.lo; byte <= edge.hi; ++byte) bytes.set(byte);
    }
  }
  return bytes;
}

void check_ways(std::size_t n) {
  if (n > kMaxWays)
    fail<BudgetError>("the grammar is too ambiguous: more than {} ways to read the text", kMaxWays);
}

void check_followed(std::size_t n) {
  if (n > kMaxFollowed)
    fail<BudgetError>("the grammar is too ambiguous: more than {} ways to read a byte",
                      kMaxFollowed);
}

void sort_unique(std::vector<Item>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

}  // namespace

bool Matcher::Marks::insert(const Item& item) {
  if ((n_ + 1) * 2 > slots_.size()) {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> old(
        std::max<std::size_t>(64, slots_.size() * 2));
    old.swap(slots_);
    const std::uint32_t round = round_;
    n_ = 0;
    for (const auto& [key, stamp] : old) {
      if (stamp == round && round != 0)
        insert({static_cast<StateId>(key >> 32), static_cast<FrameId>(key)});
    }
  }
  const std::uint64_t key = (std::uint64_t{item.state} << 32) | item.frame;
  std::size_t at = (key * 0x9E3779B97F4A7C15u) >> 20;
  for (;; ++at) {
    auto& slot = slots_[at & (slots_.size() - 1)];
    if (slot.second != round_) {
      slot = {key, round_};
      ++n_;
      return true;
    }
    if (slot.first == key) return false;
  }
}

void Matcher::Marks::clear() {
  n_ = 0;
  if (++round_ == 0) slots_.clear(), round_ = 1;
}

Matcher::Matcher(std::shared_ptr<const CompiledGrammar> compiled) : compiled_(std::move(compiled)) {
  reset();
}

void Matcher::reset() {
  frames_.clear();
  configs_.clear();
  frame_index_.clear();
  config_index_.clear();
  used_.bytes = 0;
  frames_.resize(2);   // kBottom, kHole: without parents
  configs_.resize(1);  // kDead
  configs_[0].expanded = true;
}

FrameId Matcher::frame(std::vector<Item> parents) {
  sort_unique(parents);
  const std::uint64_t h = hash_of(parents, 1);
  for (auto [it, end] = frame_index_.equal_range(h); it != end; ++it)
    if (frames_[it->second] == parents) return it->second;
  used_.bytes += 80 + parents.size() * sizeof(Item);
  frames_.push_back(std::move(parents));
  const auto id = static_cast<FrameId>(frames_.size() - 1);
  frame_index_.emplace(h, id);
  return id;
}

ConfigId Matcher::intern(Config config) {
  sort_unique(config.items);
  if (config.items.empty() && !config.complete && !config.escaped) return kDead;
  const std::uint64_t h =
      hash_of(config.items, 2 + (config.complete ? 4 : 0) + (config.escaped ? 8 : 0));
  for (auto [it, end] = config_index_.equal_range(h); it != end; ++it) {
    const Config& c = configs_[it->second];
    if (c.items == config.items && c.complete == config.complete && c.escaped == config.escaped)
      return it->second;
  }
  used_.bytes += 128 + config.items.size() * sizeof(Item);
  configs_.push_back(std::move(config));
  const auto id = static_cast<ConfigId>(configs_.size() - 1);
  config_index_.emplace(h, id);
  return id;
}

// Follows skips and the ends of rules from all pending items.
ConfigId Matcher::close() {
  marks_.clear();
  Config config;
  std::vector<Item>& work = pending_;
  std::size_t n = 0, n_followed = 0;
  while (!work.empty()) {
    const Item item = work.back();
    work.pop_back();
    ++used_.steps;
    check_followed(++n_followed);
    if (!marks_.insert(item)) continue;
    check_ways(++n);
    for (const StateId to : compiled_->skips.of(item.state)) work.push_back({to, item.frame});
    if (compiled_->ends[item.state]) {
      if (item.frame == kBottom) config.complete = true;
      if (item.frame == kHole) config.escaped = true;
      const std::vector<Item>& parents = frames_[item.frame];
      work.insert(work.end(), parents.begin(), parents.end());
      continue;
    }
    if (!compiled_->bytes.of(item.state).empty() || !compiled_->calls.of(item.state).empty() ||
        !compiled_->tokens.of(item.state).empty())
      config.items.push_back(item);
  }
  return intern(std::move(config));
}

ConfigId Matcher::start() {
  pending_ = {{compiled_->rules[compiled_->root].start, kBottom}};
  return close();
}

ConfigId Matcher::alone(StateId state) {
  pending_ = {{state, kHole}};
  return close();
}

ConfigId Matcher::after(FrameId frame) {
  pending_ = frames_[frame];
  return close();
}

void Matcher::gather_calls(StateId state, FrameId frame) {
  for (const CallEdge& edge : compiled_->calls.of(state)) {
    std::vector<Item>& parents = callers_[edge.rule];
    if (parents.empty()) {
      ranks_.push_back({compiled_->rules[edge.rule].rank, edge.rule});
      std::push_heap(ranks_.begin(), ranks_.end(), std::greater<>());
    }
    // A tail call needs no place to return to.
    if (compiled_->only_ends[edge.to] && frame > kHole) {
      used_.steps += frames_[frame].size();
      parents.insert(parents.end(), frames_[frame].begin(), frames_[frame].end());
    } else {
      parents.push_back({edge.to, frame});
    }
    if (parents.size() > kMaxWays) {
      sort_unique(parents);
      check_ways(parents.size());
    }
  }
}

// Follows calls. Rules are processed in the order of their ranks, so that all callers of a rule at
// this place are known when its frame is created.
void Matcher::expand(ConfigId id) {
  if (configs_[id].expanded) return;
  const std::uint64_t work_before = used_.steps;
  std::vector<Item> readers;
  ranks_.clear();
  callers_.clear();
  const auto take = [&](const Item& item) {
    used_.steps += 1 + compiled_->calls.of(item.state).size();
    check_followed(static_cast<std::size_t>(used_.steps - work_before));
    if (!compiled_->bytes.of(item.state).empty() || !compiled_->tokens.of(item.state).empty())
      readers.push_back(item);
    gather_calls(item.state, item.frame);
  };
  for (const Item& item : configs_[id].items) take(item);
  std::vector<StateId> work;
  while (!ranks_.empty()) {
    std::pop_heap(ranks_.begin(), ranks_.end(), std::greater<>());
    const RuleId rule = ranks_.back().second;
    ranks_.pop_back();
    used_.steps += callers_[rule].size();
    const FrameId called = frame(std::move(callers_[rule]));
    marks_.clear();
    work.assign(1, compiled_->rules[rule].start);
    while (!work.empty()) {
      const Item item{work.back(), called};
      work.pop_back();
      if (!marks_.insert(item)) continue;
      take(item);
      for (const StateId to : compiled_->skips.of(item.state)) work.push_back(to);
    }
    check_ways(readers.size());
  }
  used_.bytes += readers.size() * sizeof(Item);
  configs_[id].bytes = bytes_of(readers, *compiled_, used_.steps);
  configs_[id].readers = std::move(readers);
  configs_[id].expanded = true;
  configs_[id].costly = used_.steps - work_before > kCostly;
}

ConfigId Matcher::compute_step(ConfigId id, std::uint8_t byte) {
  if (id == kDead) return kDead;
  expand(id);
  if (!configs_[id].bytes[byte]) return kDead;
  if (!configs_[id].next) {
    configs_[id].next = std::make_unique<Table>();
    configs_[id].next->fill(kUnknown);
    used_.bytes += sizeof(Table);
  }
  pending_.clear();
  const std::uint64_t work_before = used_.steps;
  used_.steps += configs_[id].readers.size();
  for (const Item& item : configs_[id].readers) {
    for (const ByteEdge& edge : compiled_->bytes.of(item.state))
      if (edge.lo <= byte && byte <= edge.hi) pending_.push_back({edge.to, item.frame});
  }
  const ConfigId to = pending_.empty() ? kDead : close();
  (*configs_[id].next)[byte] = to;
  configs_[id].costly_steps[byte] = used_.steps - work_before > kCostly;
  return to;
}

ConfigId Matcher::step_token(ConfigId id, std::int32_t token) {
  expand(id);
  pending_.clear();
  for (const Item& item : configs_[id].readers) {
    for (const TokenEdge& edge : compiled_->tokens.of(item.state))
      if ((edge.token == token) != edge.negated) pending_.push_back({edge.to, item.frame});
  }
  return pending_.empty() ? kDead : close();
}

ConfigId Matcher::feed(ConfigId config, std::string_view bytes) {
  for (const char c : bytes) {
    if (config == kDead) break;
    config = step(config, static_cast<std::uint8_t>(c));
  }
  return config;
}

std::vector<Matcher::TokenChoice> Matcher::token_choices(ConfigId id) {
  std::vector<TokenChoice> choices;
  if (!compiled_->has_tokens) return choices;
  expand(id);
  used_.steps += configs_[id].readers.size();
  for (const Item& item : configs_[id].readers) {
    for (const TokenEdge& edge : compiled_->tokens.of(item.state))
      choices.push_back({edge.token, edge.negated});
  }
  return choices;
}

int Matcher::only_byte(ConfigId id) {
  if (may_end(id)) return -1;
  expand(id);
  int only = -1;
  for (const Item& item : configs_[id].readers) {
    if (!compiled_->tokens.of(item.state).empty()) return -1;
    for (const ByteEdge& edge : compiled_->bytes.of(item.state)) {
      if (edge.lo != edge.hi || (only >= 0 && only != edge.lo)) return -1;
      only = edge.lo;
    }
  }
  return only;
}

std::string Matcher::forced(ConfigId config, std::size_t max_bytes) {
  std::string text;
  while (text.size() < max_bytes) {
    const int byte = only_byte(config);
    if (byte < 0 || configs_[config].costly) break;
    const ConfigId to = step(config, static_cast<std::uint8_t>(byte));
    if (configs_[config].costly_steps[static_cast<std::size_t>(byte)]) break;
    text.push_back(static_cast<char>(byte));
    config = to;
  }
  return text;
}

ConfigId Matcher::unite(ConfigId a, ConfigId b) {
  if (a == kDead || b == kDead || a == b) return a == kDead ? b : a;
  Config config;
  for (const ConfigId id : {a, b}) {
    const Config& c = configs_[id];
    config.items.insert(config.items.end(), c.items.begin(), c.items.end());
    config.complete |= c.complete;
    config.escaped |= c.escaped;
  }
  return intern(std::move(config));
}

// Parents are older than their frames, so one descending pass marks the frames in use, and one
// ascending pass renumbers them.
ConfigId Matcher::collect(ConfigId keep) {
  std::vector<bool> used(frames_.size(), false);
  for (const Item& item : configs_[keep].items) used[item.frame] = true;
  for (std::size_t f = frames_.size(); f-- > 2;) {
    if (!used[f]) continue;
    for (const Item& parent : frames_[f]) used[parent.frame] = true;
  }
  Config config;
  config.items = std::move(configs_[keep].items);
  config.complete = configs_[keep].complete;
  config.escaped = configs_[keep].escaped;
  std::vector<std::vector<Item>> old = std::move(frames_);
  std::vector<FrameId> renamed(old.size(), 0);
  renamed[kHole] = kHole;
  reset();
  ++epoch_;
  for (std::size_t f = 2; f < old.size(); ++f) {
    if (!used[f]) continue;
    for (Item& parent : old[f]) parent.frame = renamed[parent.frame];
    renamed[f] = frame(std::move(old[f]));
  }
  for (Item& item : config.items) item.frame = renamed[item.frame];
  return intern(std::move(config));
}

}  // namespace weft::grammar
