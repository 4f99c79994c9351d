#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/keyed_hash.h"

#include "characters.h"
#include "schema/schema_emitter.h"

namespace weft::grammar {
namespace {

constexpr std::size_t kMaxObjectStates = 500'000;
constexpr std::size_t kMaxNameSets = 256;

// Names of members, and the conditions for their values.
struct NameSet {
  DfaRef names;  // null: all
  Conjunction what;
};

bool impossible(const JsonTree& json, const Conjunction& what) {
  return std::any_of(what.begin(), what.end(), [&](const Literal& l) {
    const JsonNode& node = json[l.node];
    return (l.kind == Literal::Kind::never && !l.negated) ||
           (l.kind == Literal::Kind::schema && node.kind == JsonNode::Kind::boolean &&
            node.truth == l.negated);
  });
}

// Parts every set into the names that a pattern matches and the others.
void split(SchemaExpander& expander, std::vector<NameSet>& sets,
           const SchemaExpander::Patterns& patterns) {
  struct Part {
    NameSet set;
    bool matched;
  };
  std::vector<Part> parts;
  for (NameSet& set : sets) parts.push_back({std::move(set), false});
  for (const auto& [dfa, literal] : patterns.patterns) {
    std::vector<Part> next;
    for (const Part& part : parts) {
      const DfaRef& names = part.set.names;
      Part in{{expander.counted(names ? names->both(*dfa) : *dfa), part.set.what}, true};
      in.set.what.push_back(literal);
      Part out{{expander.counted(names ? names->without(*dfa) : dfa->inverted()), part.set.what},
               part.matched};
      for (Part* p : {&in, &out})
        if (!p->set.names->empty()) next.push_back(std::move(*p));
    }
    if (next.size() > kMaxNameSets)
      expander.unsupported(literal.node, "too many patterns that overlap");
    parts = std::move(next);
  }
  sets.clear();
  for (Part& part : parts) {
    if (!part.matched && patterns.rest) part.set.what.push_back(*patterns.rest);
    sets.push_back(std::move(part.set));
  }
}

// How many members an object may have, as far as that must be counted.
struct MemberCounts {
  bool limited;
  std::uint64_t min, max;  // the schema's limits; min is 0 if the required members are enough
  std::uint64_t last;      // larger counts share its state
  std::size_t n_named;
  std::size_t last_required = 0;  // the object may not end before this member

  MemberCounts(const Term& term, const std::vector<SchemaEmitter::Member>& members)
      : limited(term.max != Dfa::kUnbounded), min(0), max(term.max), n_named(members.size()) {
    std::uint64_t n_required = 0;
    for (std::size_t i = 0; i < n_named; ++i) {
      if (!members[i].required) continue;
      ++n_required;
      last_required = i + 1;
    }
    if (term.min > n_required) min = term.min;
    last = limited ? std::max(min, max) : min;
  }
  bool fit() const {
    return last <= kMaxObjectStates && (last + 1) * (n_named + 1) <= kMaxObjectStates;
  }
  bool full(std::uint64_t count) const { return limited && count >= max; }
  bool may_end(std::size_t n_done, std::uint64_t count) const {
    return n_done >= last_required && count >= min;
  }
};

// A state for every number of named members that were handled, and every count of members.
class StateGrid {
 public:
  StateGrid(GrammarBuilder& b, const MemberCounts& counts) : width_(counts.last + 1) {
    states_.resize((counts.n_named + 1) * width_);
    for (StateId& s : states_) s = b.state();
  }
  StateId at(std::size_t n_done, std::uint64_t count) const {
    return states_[n_done * width_ + count];
  }

 private:
  std::uint64_t width_;
  std::vector<StateId> states_;
};

}  // namespace

std::vector<SchemaEmitter::Member> SchemaEmitter::named_members(const Term& term) {
  std::vector<std::string> names;
  ForeignSet<std::string_view> known;
  const auto add_name = [&](const std::string& name) {
    if (known.insert(name).second) names.push_back(name);
  };
  const JsonTree& json = expander_.json();
  for (const Term::Leaf& leaf : term.leaves) {
    const JsonId from = leaf.is_value ? leaf.node : json.find(leaf.node, "properties");
    if (from != JsonTree::kNone)
      for (const std::string& name : json[from].names) add_name(name);
  }
  for (const std::string& name : term.required) add_name(name);
  for (const auto& [name, literal] : term.members) add_name(name);
  const DfaRef allowed = expander_.strings(term.names);
  const ForeignSet<std::string_view> required(term.required.begin(), term.required.end());
  ForeignMap<std::string_view, Conjunction> own;
  for (const auto& [name, literal] : term.members) own[name].push_back(literal);
  std::vector<Member> members;
  for (const std::string& name : names) {
    Conjunction what;
    for (const Term::Leaf& leaf : term.leaves) expander_.member_literals(leaf, name, what);
    if (const auto at = own.find(name); at != own.end())
      what.insert(what.end(), at->second.begin(), at->second.end());
    if (allowed && !allowed->matches(code_points(name))) what.push_back({0, Literal::Kind::never});
    members.push_back({name, value(what), required.contains(name)});
  }
  return members;
}

RuleId SchemaEmitter::other_member(const Term& term, const std::vector<Member>& members) {
  const RuleId rule = b_.add_rule("member");
  const Piece p = b_.piece();
  std::vector<NameSet> sets{{expander_.strings(term.names), {}}};
  for (const Term::Leaf& leaf : term.leaves) split(expander_, sets, expander_.patterns(leaf));
  if (expander_.is_closed(term, members.size()))
    split(expander_, sets, expander_.only_patterns(term));
  if (!members.empty()) {
    std::vector<std::u32string> taken;
    for (const Member& m : members) taken.push_back(code_points(m.name));
    const Dfa named = Dfa::literals(taken);
    for (NameSet& set : sets)
      set.names = expander_.counted(set.names ? set.names->without(named) : named.inverted());
  }
  for (const NameSet& set : sets) {
    if ((set.names && set.names->empty()) || impossible(expander_.json(), set.what)) continue;
    const Piece name =
        set.names ? json_.quoted(json_.characters(*set.names)) : b_.call(json_.string());
    b_.skip(p.in, name.in);
    b_.call(json_.mark(name.out, ':', false, true), value(set.what), p.out);
  }
  b_.define(rule, p);
  return rule;
}

RuleId SchemaEmitter::named_member(const Member& member) {
  const auto [it, added] = named_.try_emplace({member.name, member.value}, 0);
  if (!added) return it->second;
  Piece p = b_.piece();
  StateId at = b_.state();
  b_.byte(p.in, '"', '"', at);
  for (const char32_t code : code_points(member.name)) {
    const StateId next = b_.state();
    add_json_character(b_, at, {code, code}, next);
    at = next;
  }
  const StateId closed = b_.state();
  b_.byte(at, '"', '"', closed);
  b_.call(json_.mark(closed, ':', false, true), member.value, p.out);
  return it->second = b_.add_rule("member " + member.name, p);
}

// Members come in the order of the schema; others may come between them.
Piece SchemaEmitter::object(const Term& term) {
  const std::vector<Member> members = named_members(term);
  const RuleId other = other_member(term, members);
  const MemberCounts counts(term, members);
  if (!counts.fit()) expander_.unsupported(term.bounds_at, "too many states");

  const Piece p = b_.piece();
  const StateId open = json_.mark(p.in, '{', false, true);
  const StateId close = b_.state();
  b_.byte(json_.space(close), '}', '}', p.out);
  // After a member, before any member, and before a named member.
  const StateGrid behind(b_, counts), before(b_, counts), named(b_, counts);
  b_.skip(open, before.at(0, 0));
  if (counts.may_end(0, 0)) b_.skip(open, close);
  for (std::size_t i = 0; i <= members.size(); ++i) {
    for (std::uint64_t c = 0; c <= counts.last; ++c) {
      if (counts.may_end(i, c)) b_.skip(behind.at(i, c), close);
      if (!counts.full(c)) b_.skip(json_.mark(behind.at(i, c), ',', false, true), before.at(i, c));
      b_.skip(before.at(i, c), named.at(i, c));
      if (counts.full(c)) continue;
      const std::uint64_t counted = std::min(c + 1, counts.last);
      b_.call(before.at(i, c), other, behind.at(i, counted));
      if (i == members.size()) continue;
      b_.call(named.at(i, c), named_member(members[i]), behind.at(i + 1, counted));
      if (!members[i].required) b_.skip(named.at(i, c), named.at(i + 1, c));
    }
  }
  return p;
}

}  // namespace weft::grammar
