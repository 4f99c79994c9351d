// Rules for terms: which JSON texts are values that a schema allows.

#include <algorithm>

#include "weft/base/error.h"
#include "weft/grammar/grammar.h"

#include "numbers.h"
#include "schema.h"

namespace weft {
namespace grammar {
namespace {

constexpr std::size_t kMaxArrayStates = 50'000;
constexpr std::size_t kMaxObjectStates = 500'000;
constexpr std::size_t kMaxNameSets = 256;
constexpr std::size_t kMaxContains = 6;  // each item is counted or not by each of them
constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 31;

class SchemaEmitter {
 public:
  SchemaEmitter(const JsonTree& json, const JsonSchemaOptions& options)
      : expander_(json, options) {}

  Program run() {
    Conjunction root{{JsonTree::kRoot}};
    const RuleId rule = value(root);
    for (std::size_t i = 0; i < work_.size(); ++i) {
      const auto [what, id] = work_[i];
      try {
        b_.define(id, types(what));
      } catch (const BudgetError& error) {
        fail<BudgetError>("schema {}: {}", expander_.json().pointer(what.front().node),
                          error.what());
      }
    }
    try {
      return b_.finish(rule, false);
    } catch (const FormatError&) {
      fail<FormatError>("schema #: allows no value that ends");
    }
  }

 private:
  // --- what the rules share ---

  RuleId shared(const char* name, Piece (SchemaEmitter::*make)()) {
    const auto [it, added] = shared_.try_emplace(name, 0);
    if (!added) return it->second;
    const RuleId id = it->second = b_.add_rule(name);
    b_.define(id, (this->*make)());
    return id;
  }
  Piece text(std::string_view bytes) {
    const Piece p = b_.piece();
    b_.text(p.in, bytes, p.out);
    return p;
  }
  // A space, or a line end with the indentation of the next line.
  Piece make_space() {
    const Piece p = b_.piece();
    b_.skip(p.in, p.out);
    b_.byte(p.in, ' ', ' ', p.out);
    StateId at = b_.state();
    b_.byte(p.in, '\n', '\n', at);
    for (int i = 0; i < 24; ++i) {
      b_.skip(at, p.out);
      const StateId next = i == 23 ? p.out : b_.state();
      b_.byte(at, ' ', ' ', next);
      b_.byte(at, '\t', '\t', next);
      at = next;
    }
    return p;
  }
  StateId space(StateId from) {
    const StateId to = b_.state();
    b_.call(from, shared("space", &SchemaEmitter::make_space), to);
    return to;
  }
  StateId mark(StateId from, char c, bool space_before, bool space_behind) {
    if (space_before) from = space(from);
    StateId to = b_.state();
    b_.byte(from, static_cast<std::uint8_t>(c), static_cast<std::uint8_t>(c), to);
    return space_behind ? space(to) : to;
  }

  // Any character of a string, in any of the forms that JSON has for it.
  Piece make_character() {
    const Piece p = b_.piece();
    b_.json_character(p.in, CodePoints::all(), p.out);
    const StateId escape = b_.state(), u = b_.state(), zeros = b_.state(), high = b_.state();
    b_.byte(p.in, '\\', '\\', escape);
    b_.byte(escape, '/', '/', p.out);
    b_.byte(escape, 'u', 'u', u);  // \u0020 .. \u007F; the others are there already
    const StateId second = b_.state();
    b_.byte(u, '0', '0', second);
    b_.byte(second, '0', '0', zeros);
    b_.byte(zeros, '2', '7', high);
    for (const auto& [lo, hi] : {std::pair('0', '9'), std::pair('a', 'f'), std::pair('A', 'F')})
      b_.byte(high, static_cast<std::uint8_t>(lo), static_cast<std::uint8_t>(hi), p.out);
    return p;
  }
  Piece quoted(Piece inner) {
    const Piece p = b_.piece();
    b_.byte(p.in, '"', '"', inner.in);
    b_.byte(inner.out, '"', '"', p.out);
    return p;
  }
  Piece make_string() { return quoted(b_.star(make_character())); }
  Piece make_number() { return bytes(any_number()); }
  Piece make_any() {
    const Piece p = b_.piece();
    for (const char* word : {"null", "true", "false"}) b_.text(p.in, word, p.out);
    for (const RuleId rule : {number(), string()}) b_.call(p.in, rule, p.out);
    for (const Type type : {Type::array, Type::object}) add(p, emit(Term{}, type));
    return p;
  }
  RuleId number() { return shared("number", &SchemaEmitter::make_number); }
  RuleId string() { return shared("string", &SchemaEmitter::make_string); }

  void add(Piece whole, Piece part) {
    b_.skip(whole.in, part.in);
    b_.skip(part.out, whole.out);
  }

  // --- values ---

  RuleId value(Conjunction what) {
    expander_.simplify(what);
    if (what.empty()) return shared("value", &SchemaEmitter::make_any);
    const auto [it, added] = rules_.try_emplace(what, 0);
    if (!added) return it->second;
    it->second = b_.add_rule(expander_.json().pointer(what.front().node));
    work_.push_back({what, it->second});
    return it->second;
  }

  Piece types(const Conjunction& what) {
    const Piece p = b_.piece();
    for (const Type type : kTypes) {
      for (const Term& term : expander_.expand(what, type)) {
        if (expander_.possible(term, type, 0)) add(p, emit(term, type));
      }
    }
    return p;
  }

  Piece emit(const Term& term, Type type) {
    switch (type) {
      case Type::null:
        return text("null");
      case Type::boolean: {
        const Piece p = b_.piece();
        if ((term.truths & 1) != 0) b_.text(p.in, "false", p.out);
        if ((term.truths & 2) != 0) b_.text(p.in, "true", p.out);
        return p;
      }
      case Type::number: {
        const DfaRef dfa = expander_.combined(term, type);
        return dfa ? bytes(*dfa) : b_.call(number());
      }
      case Type::string:
        return string_of(term);
      case Type::array:
        return array(term);
      default:
        return object(term);
    }
  }

  Piece bytes(const Dfa& dfa) {
    return automaton(
        dfa, [&](StateId from, const CodePoints& set, StateId to) { b_.character(from, set, to); });
  }

  // The inside of a string.
  Piece characters(const Dfa& dfa) {
    return automaton(dfa, [&](StateId from, const CodePoints& set, StateId to) {
      if (set.ranges().back().hi < 0x80) return b_.json_character(from, set, to);
      const auto [it, added] = sets_.try_emplace(set, 0);
      if (added) {
        const Piece p = b_.piece();
        b_.json_character(p.in, set, p.out);
        it->second = b_.add_rule("character", p);
      }
      b_.call(from, it->second, to);
    });
  }

  template <class Move>
  Piece automaton(const Dfa& dfa, const Move& move) {
    const StateId end = b_.state();
    std::vector<StateId> states;
    for (Dfa::State s = 0; s < dfa.size(); ++s) states.push_back(b_.state());
    for (Dfa::State s = 1; s < dfa.size(); ++s) {
      for (const auto& [to, set] : dfa.moves(s)) move(states[s], set, states[to]);
      if (dfa.accepts(s)) b_.skip(states[s], end);
    }
    return {states[dfa.start()], end};
  }

  Piece string_of(const Term& term) {
    if (!term.allowed.empty()) return quoted(characters(*expander_.combined(term, Type::string)));
    if (term.min == 0 && term.max == Dfa::kUnbounded) return b_.call(string());
    check_count(term);
    const RuleId one = shared("character", &SchemaEmitter::make_character);
    return quoted(b_.repeat(one, term.min, term.max));
  }

  void check_count(const Term& term) {
    if (term.min > kMaxCount || (term.max != Dfa::kUnbounded && term.max > kMaxCount))
      expander_.unsupported(term.bounds_at, fmt::format("counts above {}", kMaxCount));
  }

  // --- arrays ---

  RuleId item(const Term& term, std::uint64_t index, const Conjunction& more) {
    Conjunction what = more;
    for (const Term::Leaf& leaf : term.leaves) expander_.item_literals(leaf, index, what);
    for (const auto& [at, literal] : term.items)
      if (at == index) what.push_back(literal);
    return value(what);
  }

  Piece array(const Term& term) {
    check_count(term);
    if (term.unique != JsonTree::kNone && term.max > 1)
      expander_.unsupported(term.unique, "an automaton cannot remember previous items");
    std::uint64_t named = 0;
    for (const Term::Leaf& leaf : term.leaves) named = std::max(named, expander_.named_items(leaf));
    for (const auto& [at, literal] : term.items) named = std::max(named, at + 1);
    const Piece p = b_.piece();
    const StateId open = mark(p.in, '[', false, true);
    const StateId close = b_.state();
    b_.byte(space(close), ']', ']', p.out);
    if (!term.contains.empty()) {
      counted_items(term, named, open, close);
    } else {
      items(term, named, open, close);
    }
    return p;
  }

  void items(const Term& term, std::uint64_t named, StateId at, StateId close) {
    if (term.min == 0) b_.skip(at, close);
    // One item at least stands apart: it has no comma before it.
    named = std::max<std::uint64_t>(named, 1);
    for (std::uint64_t i = 0; i < std::min(named, term.max); ++i) {
      if (i > 0) at = mark(at, ',', false, true);
      const StateId next = b_.state();
      b_.call(at, item(term, i, {}), next);
      at = next;
      if (i + 1 >= term.min) b_.skip(at, close);
    }
    if (term.max <= named) return;
    const StateId begin = b_.state();
    const StateId end = b_.state();
    b_.call(mark(begin, ',', false, true), item(term, SchemaExpander::kRest, {}), end);
    const RuleId one = b_.add_rule("item", {begin, end});
    const Piece rest =
        b_.repeat(one, term.min > named ? term.min - named : 0,
                  term.max == Dfa::kUnbounded ? ProgramBuilder::kUnbounded : term.max - named);
    b_.skip(at, rest.in);
    b_.skip(rest.out, close);
  }

  // A state for every number of items and of those that count.
  void counted_items(const Term& term, std::uint64_t named, StateId open, StateId close) {
    using Key = std::vector<std::uint64_t>;  // index, then how many of each kind
    if (term.contains.size() > kMaxContains) {
      expander_.unsupported(term.contains[kMaxContains].what.node,
                            fmt::format("more than {} of them hold at once", kMaxContains));
    }
    const bool limited = term.max != Dfa::kUnbounded;
    // Zero items are always told from some: a comma stands between items.
    const std::uint64_t max_count =
        std::max({std::uint64_t{1}, named, term.min, limited ? term.max : 0});
    std::map<Key, StateId> known;
    std::vector<std::pair<Key, StateId>> work;
    const auto state = [&](const Key& key) {
      const auto [it, added] = known.try_emplace(key, 0);
      if (added) {
        it->second = work.empty() ? open : b_.state();
        work.push_back({key, it->second});
        if (work.size() > kMaxArrayStates)
          expander_.unsupported(term.contains.front().what.node, "too many states");
      }
      return it->second;
    };
    state(Key(term.contains.size() + 1, 0));
    for (std::size_t w = 0; w < work.size(); ++w) {
      const auto [key, from] = work[w];
      bool may_end = key[0] >= term.min;
      for (std::size_t c = 0; c < term.contains.size(); ++c)
        may_end &= key[c + 1] >= term.contains[c].min;
      if (may_end) b_.skip(from, close);
      if (limited && key[0] >= term.max) continue;
      const StateId at = w == 0 ? from : mark(from, ',', false, true);
      for (std::uint32_t counts = 0; counts < (1U << term.contains.size()); ++counts) {
        Conjunction more;
        if (const auto to = count_item(term, key, counts, more)) {
          Key next = *to;
          next[0] = std::min(next[0], max_count);
          const std::uint64_t index = key[0] < named ? key[0] : SchemaExpander::kRest;
          b_.call(at, item(term, index, more), state(next));
        }
      }
    }
  }

  std::optional<std::vector<std::uint64_t>> count_item(const Term& term,
                                                       std::vector<std::uint64_t> key,
                                                       std::uint32_t counts, Conjunction& more) {
    ++key[0];
    for (std::size_t c = 0; c < term.contains.size(); ++c) {
      const Term::Contains& contains = term.contains[c];
      const bool bounded = contains.max != Dfa::kUnbounded;
      std::uint64_t& n = key[c + 1];
      if ((counts >> c & 1) != 0) {
        if (bounded ? n >= contains.max : n >= contains.min) return std::nullopt;
        more.push_back(contains.what);
        ++n;
      } else if (bounded) {
        more.push_back(!contains.what);
      }
    }
    return key;
  }

  // --- objects ---

  struct Member {
    std::string name;
    RuleId value;
    bool required;
  };

  std::vector<Member> named_members(const Term& term) {
    std::vector<std::string> names;
    const auto add_name = [&](const std::string& name) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
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
    std::vector<Member> members;
    for (const std::string& name : names) {
      Conjunction what;
      for (const Term::Leaf& leaf : term.leaves) expander_.member_literals(leaf, name, what);
      for (const auto& [own, literal] : term.members)
        if (own == name) what.push_back(literal);
      if (allowed && !allowed->matches(code_points(name)))
        what.push_back({0, Literal::Kind::never});
      const bool required =
          std::find(term.required.begin(), term.required.end(), name) != term.required.end();
      members.push_back({name, value(what), required});
    }
    return members;
  }

  // A member of any other name: NAME ws : ws VALUE. Names fall into sets by the patterns that they
  // match.
  RuleId other_member(const Term& term, const std::vector<Member>& members) {
    const RuleId rule = b_.add_rule("member");
    const Piece p = b_.piece();
    struct Cell {
      DfaRef names;  // null: all
      Conjunction what;
    };
    std::vector<Cell> cells{{expander_.strings(term.names), {}}};
    for (const Term::Leaf& leaf : term.leaves) split(cells, expander_.patterns(leaf));
    if (expander_.is_closed(term, members.size())) split(cells, expander_.only_patterns(term));
    if (!members.empty()) {
      std::vector<std::u32string> taken;
      for (const Member& m : members) taken.push_back(code_points(m.name));
      const Dfa named = Dfa::literals(taken);
      for (Cell& cell : cells)
        cell.names = expander_.counted(cell.names ? cell.names->without(named) : named.inverted());
    }
    for (const Cell& cell : cells) {
      if ((cell.names && cell.names->empty()) || impossible(cell.what)) continue;
      const Piece name = cell.names ? quoted(characters(*cell.names)) : b_.call(string());
      b_.skip(p.in, name.in);
      b_.call(mark(name.out, ':', false, true), value(cell.what), p.out);
    }
    b_.define(rule, p);
    return rule;
  }

  bool impossible(const Conjunction& what) const {
    return std::any_of(what.begin(), what.end(), [&](const Literal& l) {
      const JsonNode& node = expander_.json()[l.node];
      return (l.kind == Literal::Kind::never && !l.negated) ||
             (l.kind == Literal::Kind::schema && node.kind == JsonNode::Kind::boolean &&
              node.truth == l.negated);
    });
  }

  template <class Cell>
  void split(std::vector<Cell>& cells, const SchemaExpander::Patterns& patterns) {
    struct Part {
      Cell cell;
      bool matched;
    };
    std::vector<Part> parts;
    for (Cell& cell : cells) parts.push_back({std::move(cell), false});
    for (const auto& [dfa, literal] : patterns.patterns) {
      std::vector<Part> next;
      for (const Part& part : parts) {
        const DfaRef& names = part.cell.names;
        Part in{{expander_.counted(names ? names->both(*dfa) : *dfa), part.cell.what}, true};
        in.cell.what.push_back(literal);
        Part out{
            {expander_.counted(names ? names->without(*dfa) : dfa->inverted()), part.cell.what},
            part.matched};
        for (Part* p : {&in, &out})
          if (!p->cell.names->empty()) next.push_back(std::move(*p));
      }
      if (next.size() > kMaxNameSets)
        expander_.unsupported(literal.node, "too many patterns that overlap");
      parts = std::move(next);
    }
    cells.clear();
    for (Part& part : parts) {
      if (!part.matched && patterns.rest) part.cell.what.push_back(*patterns.rest);
      cells.push_back(std::move(part.cell));
    }
  }

  RuleId named_member(const Member& member) {
    const auto [it, added] = named_.try_emplace({member.name, member.value}, 0);
    if (!added) return it->second;
    Piece p = b_.piece();
    StateId at = b_.state();
    b_.byte(p.in, '"', '"', at);
    for (const char32_t code : code_points(member.name)) {
      const StateId next = b_.state();
      b_.json_character(at, {code, code}, next);
      at = next;
    }
    const StateId closed = b_.state();
    b_.byte(at, '"', '"', closed);
    b_.call(mark(closed, ':', false, true), member.value, p.out);
    return it->second = b_.add_rule("member " + member.name, p);
  }

  // Members come in the order of the schema; others may stand between them. States are (members
  // done, how many there were, as far as that matters).
  Piece object(const Term& term) {
    const std::vector<Member> members = named_members(term);
    const RuleId other = other_member(term, members);
    const std::size_t n = members.size();
    const auto n_required = static_cast<std::uint64_t>(
        std::count_if(members.begin(), members.end(), [](const Member& m) { return m.required; }));
    const std::uint64_t min = term.min <= n_required ? 0 : term.min;
    const bool limited = term.max != Dfa::kUnbounded;
    const std::uint64_t max_count = limited ? std::max(min, term.max) : min;
    if (max_count > kMaxObjectStates || (max_count + 1) * (n + 1) > kMaxObjectStates)
      expander_.unsupported(term.bounds_at, "too many states");
    std::size_t last_required = 0;  // the object may not end before this member
    for (std::size_t i = 0; i < n; ++i)
      if (members[i].required) last_required = i + 1;

    const Piece p = b_.piece();
    const StateId open = mark(p.in, '{', false, true);
    const StateId close = b_.state();
    b_.byte(space(close), '}', '}', p.out);
    // Places behind a member, before one where anything may stand, and before one of the named.
    const auto grid = [&] {
      std::vector<StateId> states((n + 1) * (max_count + 1));
      for (StateId& s : states) s = b_.state();
      return states;
    };
    const std::vector<StateId> behind = grid(), before = grid(), named = grid();
    const auto at = [&](std::size_t i, std::uint64_t c) { return i * (max_count + 1) + c; };
    b_.skip(open, before[at(0, 0)]);
    if (last_required == 0 && min == 0) b_.skip(open, close);
    for (std::size_t i = 0; i <= n; ++i) {
      for (std::uint64_t c = 0; c <= max_count; ++c) {
        if (i >= last_required && c >= min) b_.skip(behind[at(i, c)], close);
        if (!limited || c < term.max)
          b_.skip(mark(behind[at(i, c)], ',', false, true), before[at(i, c)]);
        b_.skip(before[at(i, c)], named[at(i, c)]);
        if (limited && c >= term.max) continue;
        const std::uint64_t counted = std::min(c + 1, max_count);
        b_.call(before[at(i, c)], other, behind[at(i, counted)]);
        if (i == n) continue;
        b_.call(named[at(i, c)], named_member(members[i]), behind[at(i + 1, counted)]);
        if (!members[i].required) b_.skip(named[at(i, c)], named[at(i + 1, c)]);
      }
    }
    return p;
  }

  SchemaExpander expander_;
  ProgramBuilder b_;
  std::map<std::string, RuleId> shared_;
  std::map<Conjunction, RuleId> rules_;
  std::vector<std::pair<Conjunction, RuleId>> work_;
  std::map<CodePoints, RuleId> sets_;
  std::map<std::pair<std::string, RuleId>, RuleId> named_;
};

}  // namespace

Program compile_schema(std::string_view text, const JsonSchemaOptions& options) {
  const JsonTree json(text);
  return SchemaEmitter(json, options).run();
}

}  // namespace grammar
}  // namespace weft
