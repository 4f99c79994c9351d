#include "regex/regex.h"

#include <string>

#include "weft/base/error.h"
#include "weft/grammar/grammar.h"

#include "characters.h"
#include "compile_work.h"
#include "compiled_grammar.h"
#include "regex/named_sets.h"
#include "regex/regex_reader.h"

namespace weft {
namespace grammar {
namespace {

constexpr int kMaxGroupDepth = 500;
constexpr std::uint64_t kMaxCount = 100'000;

// Builds an automaton while it parses. A look-ahead applies to everything up to the end of the
// text. It is supported in alternatives of the whole pattern, where it is an intersection of
// languages.
class RegexParser : private RegexReader {
 public:
  RegexParser(std::string_view pattern, bool whole) : RegexReader(pattern), whole_(whole) {}

  Dfa compile() {
    std::optional<Dfa> all;
    do {
      Dfa branch = top_branch();
      all = all ? all->either(branch) : std::move(branch);
    } while (take('|'));
    if (at_ < pattern_.size()) error(at_, "')' without '('");
    return *all;
  }

 private:
  using Piece = Nfa::Piece;

  Nfa::Piece anything() {
    const Piece p = nfa_.piece();
    nfa_.skip(p.in, p.out);
    nfa_.edge(p.out, CodePoints::all(), p.out);
    return p;
  }
  Piece chain(Piece a, Piece b) {
    nfa_.skip(a.out, b.in);
    return {a.in, b.out};
  }

  // One alternative of the whole pattern: the part before an assertion, followed by the
  // intersection of the assertion's language and the part after it.
  Dfa top_branch() {
    nfa_ = Nfa();
    Piece before = nfa_.piece();
    nfa_.skip(before.in, before.out);
    if (!whole_) before = chain(before, anything());
    bool only_begin = true;
    while (more() && peek() != '|' && peek() != ')') {
      const std::size_t begin = at_;
      const bool ahead = pattern_.substr(at_, 3) == "(?=";
      if (ahead || pattern_.substr(at_, 3) == "(?!") {
        // The language after the assertion starts at the start of the text only if just '^' came
        // before; otherwise the intersection would be needed at every position.
        if (!only_begin || (!whole_ && !anchored_))
          unsupported(begin, "a look-ahead after other characters");
        at_ += 3;
        return look_ahead(begin, ahead);
      }
      if (peek() == '^') anchored_ = true;
      only_begin &= peek() == '^';
      before = chain(before, term(0));
    }
    anchored_ = false;
    if (!whole_) before = chain(before, anything());
    return Dfa::of(nfa_, before);
  }

  Dfa look_ahead(std::size_t begin, bool positive) {
    nfa_ = Nfa();
    const Piece inner = alternatives(0);
    if (!take(')')) error(begin, "the group that begins here is not closed");
    const Dfa asserted = Dfa::of(nfa_, chain(inner, anything()));
    const Dfa rest = rest_of_branch();
    return positive ? rest.both(asserted) : rest.without(asserted);
  }

  Dfa rest_of_branch() {
    nfa_ = Nfa();
    Piece p = nfa_.piece();
    nfa_.skip(p.in, p.out);
    bool first = true;
    while (more() && peek() != '|' && peek() != ')') {
      const std::size_t begin = at_;
      const bool ahead = pattern_.substr(at_, 3) == "(?=";
      if (ahead || pattern_.substr(at_, 3) == "(?!") {
        if (!first) unsupported(begin, "a look-ahead after other characters");
        at_ += 3;
        return look_ahead(begin, ahead);
      }
      first = false;
      p = chain(p, term(0));
    }
    anchored_ = false;
    if (!whole_) p = chain(p, anything());
    return Dfa::of(nfa_, p);
  }

  Piece alternatives(int depth) {
    if (depth > kMaxGroupDepth)
      error(at_, fmt::format("more than {} groups in each other", kMaxGroupDepth));
    const Piece all = nfa_.piece();
    do {
      Nfa::State at = all.in;
      while (more() && peek() != '|' && peek() != ')') {
        const Piece p = term(depth);
        nfa_.skip(at, p.in);
        at = p.out;
      }
      nfa_.skip(at, all.out);
    } while (take('|'));
    return all;
  }

  // An atom with its quantifier.
  Piece term(int depth) {
    const std::size_t begin = at_;
    if (take('^')) return assertion(Nfa::Assert::begin);
    if (take('$')) return assertion(Nfa::Assert::end);
    Piece p = atom(depth);
    const std::size_t end = at_;
    std::uint64_t min = 1, max = 1;
    if (!quantifier(min, max)) return p;
    if (max != GrammarBuilder::kUnbounded && max < min)
      error(end, "the numbers of the quantifier are out of order");
    take('?');  // lazy or greedy does not matter here
    if (char c = peek(); more() && (c == '*' || c == '+' || c == '?'))
      error(at_, "nothing to repeat");
    // Copies are made by parsing the atom again.
    const std::size_t after = at_;
    auto copy = [&, n = 0]() mutable {
      if (n++ == 0) return p;
      at_ = begin;
      const Piece again = atom(depth);
      at_ = after;
      return again;
    };
    return repeated(copy, min, max);
  }

  template <class Copy>
  Piece repeated(Copy& copy, std::uint64_t min, std::uint64_t max) {
    const Piece all = nfa_.piece();
    Nfa::State at = all.in;
    for (std::uint64_t i = 0; i < min; ++i) {
      const Piece p = copy();
      nfa_.skip(at, p.in);
      at = p.out;
    }
    if (max == GrammarBuilder::kUnbounded) {
      const Piece p = copy();
      const Nfa::State loop = nfa_.state();
      nfa_.skip(at, loop);
      nfa_.skip(loop, p.in);
      nfa_.skip(p.out, loop);
      nfa_.skip(loop, all.out);
      return all;
    }
    for (std::uint64_t i = min; i < max; ++i) {
      const Piece p = copy();
      nfa_.skip(at, all.out);
      nfa_.skip(at, p.in);
      at = p.out;
    }
    nfa_.skip(at, all.out);
    return all;
  }

  Piece assertion(Nfa::Assert where) {
    const Piece p = nfa_.piece();
    nfa_.skip(p.in, p.out, where);
    return p;
  }

  bool quantifier(std::uint64_t& min, std::uint64_t& max) {
    if (take('*')) return min = 0, max = GrammarBuilder::kUnbounded, true;
    if (take('+')) return max = GrammarBuilder::kUnbounded, true;
    if (take('?')) return min = 0, true;
    if (peek() != '{') return false;
    const std::size_t begin = at_++;
    const auto number = [&](std::uint64_t& value) {
      const std::size_t from = at_;
      value = 0;
      while (peek() >= '0' && peek() <= '9') {
        value = value * 10 + static_cast<std::uint64_t>(pattern_[at_++] - '0');
        if (value > kMaxCount) error(begin, fmt::format("a count may be at most {}", kMaxCount));
      }
      return at_ > from;
    };
    bool ok = number(min);
    max = min;
    if (ok && take(',') && !number(max)) max = GrammarBuilder::kUnbounded;
    if (ok && take('}')) return true;
    at_ = begin;  // a brace that is just a brace
    return false;
  }

  Piece one_of(const CodePoints& set) {
    const Piece p = nfa_.piece();
    nfa_.edge(p.in, set, p.out);
    return p;
  }

  Piece atom(int depth) {
    const std::size_t begin = at_;
    if (take('(')) return group(begin, depth);
    if (take('.')) return one_of(line_ends().inverted());
    if (take('[')) return one_of(char_class(begin));
    const char c = peek();
    if (c == '*' || c == '+' || c == '?') error(begin, "nothing to repeat");
    if (c == '\\') {
      ++at_;
      return one_of(escape(begin, false));
    }
    const char32_t code = character();
    return one_of({code, code});
  }

  Piece group(std::size_t begin, int depth) {
    if (take("?:")) {
    } else if (take("?<=") || take("?<!")) {
      unsupported(begin, "look-behind");
    } else if (take("?=") || take("?!")) {
      unsupported(begin, "a look-ahead inside a group");
    } else if (take("?<")) {
      const std::size_t end = pattern_.find('>', at_);
      if (end == std::string_view::npos) error(begin, "the group's name is not closed");
      at_ = end + 1;
    } else if (peek() == '?') {
      error(begin, "unknown kind of group");
    }
    const Piece p = alternatives(depth + 1);
    if (!take(')')) error(begin, "the group that begins here is not closed");
    return p;
  }

  bool whole_;
  bool anchored_ = false;
  Nfa nfa_;
};

}  // namespace

Dfa compile_regex(std::string_view pattern, bool whole) {
  return RegexParser(pattern, whole).compile();
}

}  // namespace grammar

std::shared_ptr<const Grammar> Grammar::from_regex(std::string_view pattern) {
  const grammar::DefaultLimits limits;
  using namespace grammar;
  const Dfa dfa = compile_regex(pattern, true);
  if (dfa.empty()) fail<FormatError>("pattern '{}' matches no text", pattern);
  GrammarBuilder builder;
  std::vector<StateId> states;
  for (std::size_t i = 0; i < dfa.size(); ++i) states.push_back(builder.state());
  const StateId end = builder.state();
  for (Dfa::State s = 1; s < dfa.size(); ++s) {
    for (const auto& [to, set] : dfa.moves(s)) add_character(builder, states[s], set, states[to]);
    if (dfa.accepts(s)) builder.skip(states[s], end);
  }
  const RuleId root = builder.add_rule("pattern", {states[dfa.start()], end});
  return std::make_shared<Grammar>(
      std::make_shared<const CompiledGrammar>(builder.finish(root, false)));
}

}  // namespace weft
