// References, and small queries about a schema.

#include "schema/schema.h"

#include <algorithm>

#include "weft/base/error.h"

#include "compile_work.h"
#include "regex/regex.h"
#include "schema/formats.h"
#include "schema/numbers.h"

namespace weft::grammar {

namespace {

using Kind = JsonNode::Kind;

// Limit for all combinations of patterns, names and lengths in one schema: some seconds.
constexpr std::size_t kMaxTables = 30'000'000;
constexpr std::uint64_t kStepsToFind = 20;  // a pattern that is kept

// Only keywords that contain schemas: lookalikes elsewhere do not count.
constexpr std::string_view kSchemas[] = {"allOf",
                                         "anyOf",
                                         "oneOf",
                                         "not",
                                         "if",
                                         "then",
                                         "else",
                                         "items",
                                         "prefixItems",
                                         "additionalItems",
                                         "additionalProperties",
                                         "contains",
                                         "propertyNames",
                                         "unevaluatedItems",
                                         "unevaluatedProperties"};
constexpr std::string_view kMapsOfSchemas[] = {
    "$defs", "definitions", "properties", "patternProperties", "dependentSchemas", "dependencies"};

bool has_scheme(const std::string& uri) {
  const std::size_t colon = uri.find(':');
  return colon != uri.npos && uri.find_first_of("/?#") > colon;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'                 ? c - '0'
           : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                : -1;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 &&
        digit(text[i + 2]) >= 0) {
      out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

References::References(const JsonTree& json) : json_(json) {
  const JsonId schema = json.find(JsonTree::kRoot, "$schema");
  if (schema != JsonTree::kNone) {
    for (const char* draft : {"draft-03", "draft-04", "draft-06", "draft-07"})
      old_draft_ |= json[schema].text.find(draft) != std::string::npos;
  }
  documents_[""] = JsonTree::kRoot;
  base_of_[JsonTree::kRoot] = "";
  visit(JsonTree::kRoot, "");
}

// Records the names of a schema. Returns the base of the references in it.
std::string References::visit_names(JsonId id, std::string base) {
  for (const char* key : {"$id", "id"}) {
    const JsonId at = json_.find(id, key);
    if (at == JsonTree::kNone || json_[at].kind != Kind::string) continue;
    if (old_draft_ && json_.find(id, "$ref") != JsonTree::kNone) continue;
    std::string uri = json_[at].text;
    if (uri.starts_with('#')) {
      anchors_[base + uri] = id;
      continue;
    }
    base = join(base, uri);
    if (base.ends_with('#')) base.pop_back();
    documents_.try_emplace(base, id);
  }
  for (const char* key : {"$anchor", "$dynamicAnchor"}) {
    const JsonId at = json_.find(id, key);
    if (at == JsonTree::kNone || json_[at].kind != Kind::string) continue;
    anchors_[base + "#" + json_[at].text] = id;
    if (key[1] == 'd') ++dynamic_anchors_[json_[at].text];
  }
  base_of_[id] = base;
  return base;
}

// JsonTree bounds the depth.
void References::visit(JsonId id, std::string base) {
  const JsonNode& node = json_[id];
  if (node.kind != Kind::object) return;
  base = visit_names(id, std::move(base));
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const auto has = [&](const auto& names) {
      return std::find(std::begin(names), std::end(names), node.names[i]) != std::end(names);
    };
    const JsonNode& value = json_[node.items[i]];
    if (has(kMapsOfSchemas) || (has(kSchemas) && value.kind == Kind::array))
      for (const JsonId inner : value.items) visit(inner, base);
    else if (has(kSchemas))
      visit(node.items[i], base);
  }
}

std::string References::join(const std::string& base, const std::string& ref) const {
  if (ref.empty()) return base;
  if (has_scheme(ref) || !has_scheme(base)) return ref;
  if (ref.starts_with('#')) return base + ref;
  const std::size_t scheme = base.find(':');
  if (!base.substr(scheme + 1).starts_with("//")) return ref;
  if (ref.starts_with("//")) return base.substr(0, scheme + 1) + ref;
  const std::size_t path = base.find('/', scheme + 3);
  if (ref.starts_with('/')) return base.substr(0, path) + ref;
  return path == base.npos ? base + "/" + ref : base.substr(0, base.rfind('/') + 1) + ref;
}

// The node behind one step of a JSON pointer; kNone if there is no such one.
JsonId References::step(JsonId at, std::string part) const {
  for (std::size_t t = 0; (t = part.find('~', t)) != part.npos; ++t)
    part.replace(t, 2, 1, part.compare(t, 2, "~1") == 0 ? '/' : '~');
  const JsonNode& node = json_[at];
  if (node.kind != Kind::array)
    return node.kind == Kind::object ? json_.find(at, part) : JsonTree::kNone;
  const bool number =
      !part.empty() && part.size() < 9 && part.find_first_not_of("0123456789") == part.npos;
  const std::size_t index = number ? std::stoul(part) : node.items.size();
  return index < node.items.size() ? node.items[index] : JsonTree::kNone;
}

// The value in a document that the fragment of a URI names, as an anchor or a JSON pointer.
JsonId References::find_fragment(const std::string& uri, const std::string& fragment) const {
  JsonId at = documents_.at(uri);
  if (fragment.empty()) return at;
  if (fragment[0] != '/') {
    const auto anchor = anchors_.find(uri + "#" + fragment);
    return anchor == anchors_.end() ? JsonTree::kNone : anchor->second;
  }
  for (std::size_t i = 1; i != fragment.npos && at != JsonTree::kNone;) {
    const std::size_t slash = fragment.find('/', i);
    at = step(at, fragment.substr(i, slash == fragment.npos ? slash : slash - i));
    i = slash == fragment.npos ? slash : slash + 1;
  }
  return at;
}

JsonId References::resolve(JsonId keyword) const {
  const JsonNode& ref = json_[keyword];
  const auto where = [&] { return json_.pointer(keyword); };
  if (ref.kind != Kind::string) fail<FormatError>("schema {}: must be a string", where());
  const JsonNode& parent = json_[ref.parent];
  if (parent.names[ref.index] == "$dynamicRef") {
    const std::string name = ref.text.substr(ref.text.find('#') + 1);
    const auto known = dynamic_anchors_.find(name);
    if (known != dynamic_anchors_.end() && (known->second > 1 || documents_.size() > 2))
      fail<UnsupportedError>("schema {}: its target depends on the path to it", where());
  }
  const auto base = base_of_.find(ref.parent);
  std::string uri = ref.text, fragment;
  if (const std::size_t hash = uri.find('#'); hash != uri.npos) {
    fragment = percent_decoded(std::string_view(uri).substr(hash + 1));
    uri.resize(hash);
  }
  uri = join((base == base_of_.end() ? base_of_.find(JsonTree::kRoot) : base)->second, uri);
  if (!documents_.contains(uri))
    fail<UnsupportedError>("schema {}: '{}' is another document", where(), ref.text);
  const JsonId at = find_fragment(uri, fragment);
  if (at == JsonTree::kNone) fail<FormatError>("schema {}: has no '{}'", where(), ref.text);
  return at;
}

void SchemaExpander::unsupported(JsonId keyword, const std::string& why) const {
  fail<UnsupportedError>("schema {}: not supported: {}", json_.pointer(keyword), why);
}

void SchemaExpander::wrong(JsonId keyword, const std::string& why) const {
  fail<FormatError>("schema {}: {}", json_.pointer(keyword), why);
}

DfaRef SchemaExpander::kept(const std::string& key, const std::function<Dfa()>& make) {
  DfaRef& dfa = known_[key];
  if (!dfa) dfa = std::make_shared<const Dfa>(make());
  return dfa;
}

DfaRef SchemaExpander::pattern(JsonId node, std::string_view text) {
  try {
    return kept(fmt::format("pattern {}", text), [&] { return compile_regex(text, false); });
  } catch (const FormatError& error) {
    wrong(node, error.what());
  } catch (const Error& error) {
    unsupported(node, error.what());
  }
}

DfaRef SchemaExpander::format(JsonId node) {
  const std::string& name = json_[node].text;
  const auto known = known_.find("format " + name);
  if (known != known_.end()) return known->second;
  std::optional<Dfa> dfa;
  if (find_format(name, dfa) == FormatKind::unsupported)
    unsupported(node, fmt::format("the format '{}' is not a regular language", name));
  return known_["format " + name] = dfa ? std::make_shared<const Dfa>(std::move(*dfa)) : nullptr;
}

std::uint64_t SchemaExpander::named_items(const Term::Leaf& leaf) const {
  if (leaf.is_value) return json_[leaf.node].items.size();
  for (const char* key : {"prefixItems", "items"}) {
    const JsonId items = json_.find(leaf.node, key);
    if (items != JsonTree::kNone && json_[items].kind == Kind::array)
      return json_[items].items.size();
  }
  return 0;
}

void SchemaExpander::item_literals(const Term::Leaf& leaf, std::uint64_t index,
                                   Conjunction& out) const {
  if (leaf.is_value) {
    const auto& items = json_[leaf.node].items;
    out.push_back(index < items.size() ? Literal{items[index], Literal::Kind::equals}
                                       : Literal{0, Literal::Kind::never});
    return;
  }
  JsonId rest = json_.find(leaf.node, "items");
  JsonId tuple = json_.find(leaf.node, "prefixItems");
  if (rest != JsonTree::kNone && json_[rest].kind == Kind::array) {
    tuple = rest;
    rest = json_.find(leaf.node, "additionalItems");
  }
  if (rest == JsonTree::kNone) rest = json_.find(leaf.node, "unevaluatedItems");
  if (tuple != JsonTree::kNone && index < json_[tuple].items.size()) {
    out.push_back({json_[tuple].items[index]});
  } else if (rest != JsonTree::kNone) {
    out.push_back({rest});
  }
}

SchemaExpander::Patterns SchemaExpander::patterns(const Term::Leaf& leaf) {
  Patterns result;
  if (leaf.is_value) {
    result.rest = Literal{0, Literal::Kind::never};
    return result;
  }
  const JsonId patterns = json_.find(leaf.node, "patternProperties");
  if (patterns != JsonTree::kNone) {
    const JsonNode& node = json_[patterns];
    for (std::size_t i = 0; i < node.items.size(); ++i)
      result.patterns.push_back({pattern(node.items[i], node.names[i]), Literal{node.items[i]}});
  }
  for (const char* key : {"additionalProperties", "unevaluatedProperties"}) {
    const JsonId rest = json_.find(leaf.node, key);
    if (rest != JsonTree::kNone && !result.rest) result.rest = Literal{rest};
  }
  return result;
}

void SchemaExpander::member_literals(const Term::Leaf& leaf, const std::string& name,
                                     Conjunction& out) {
  if (leaf.is_value) {
    const JsonId value = json_.find(leaf.node, name);
    out.push_back(value == JsonTree::kNone ? Literal{0, Literal::Kind::never}
                                           : Literal{value, Literal::Kind::equals});
    return;
  }
  bool named = false;
  const JsonId properties = json_.find(leaf.node, "properties");
  const JsonId own = properties == JsonTree::kNone ? JsonTree::kNone : json_.find(properties, name);
  if (own != JsonTree::kNone) {
    out.push_back({own});
    named = true;
  }
  const Patterns others = patterns(leaf);
  const std::u32string codes = code_points(name);
  CompileWork::add(kStepsToFind + codes.size() +
                   others.patterns.size() * (kStepsToFind + codes.size()));
  for (const auto& [dfa, literal] : others.patterns) {
    if (!dfa->matches(codes)) continue;
    out.push_back(literal);
    named = true;
  }
  if (!named && others.rest) out.push_back(*others.rest);
}

// Removes literals that are always true and duplicates, and sorts the rest.
void SchemaExpander::simplify(Conjunction& what) const {
  std::erase_if(what, [&](const Literal& literal) {
    if (literal.kind != Literal::Kind::schema)
      return literal.kind == Literal::Kind::never && literal.negated;
    const JsonNode& node = json_[literal.node];
    if (node.kind == Kind::boolean) return node.truth != literal.negated;
    return !literal.negated && node.kind == Kind::object && node.items.empty();
  });
  std::sort(what.begin(), what.end());
  what.erase(std::unique(what.begin(), what.end()), what.end());
}

DfaRef SchemaExpander::combined(const Term& term, Type type) {
  try {
    return combination(term, type);
  } catch (const BudgetError& error) {
    if (term.bounds_at == JsonTree::kRoot) throw;  // no keyword: the caller names the place
    unsupported(term.bounds_at, error.what());
  }
}

DfaRef SchemaExpander::counted(Dfa dfa) {
  table_size_ += dfa.table_size();
  if (table_size_ > kMaxTables)
    fail<BudgetError>("its patterns and bounds have more than {} transitions together", kMaxTables);
  return std::make_shared<const Dfa>(std::move(dfa));
}

DfaRef SchemaExpander::combination(const Term& term, Type type) {
  DfaRef all;
  for (const DfaRef& one : term.allowed) all = all ? counted(all->both(*one)) : one;
  if (type != Type::string || !all || all->empty()) return all;
  const auto [shortest, longest] = all->length_bounds();
  if (term.min <= shortest && (term.max == Dfa::kUnbounded || longest <= term.max)) return all;
  if (term.min > longest || shortest > term.max) return counted(Dfa::literals({}));
  return counted(all->both(Dfa::lengths(term.min, std::min(term.max, longest))));
}

DfaRef SchemaExpander::strings(const Conjunction& what) {
  DfaRef all;
  for (const Term& term : expand(what, Type::string)) {
    DfaRef one = combined(term, Type::string);
    if (!one && term.min == 0 && term.max == Dfa::kUnbounded) return nullptr;
    try {
      if (!one) one = counted(Dfa::lengths(term.min, term.max));
      all = all ? counted(all->either(*one)) : one;
    } catch (const BudgetError& error) {
      if (term.bounds_at == JsonTree::kRoot) throw;
      unsupported(term.bounds_at, error.what());
    }
  }
  return all ? all : std::make_shared<const Dfa>(Dfa::literals({}));
}

bool SchemaExpander::possible(const Term& term, Type type, int depth) {
  if (type == Type::boolean) return term.truths != 0;
  if (term.min > term.max) return false;
  if (type == Type::string || type == Type::number) {
    const DfaRef all = combined(term, type);
    return !all || !all->empty();
  }
  if (depth <= 0) return true;
  if (type == Type::object) {
    if (term.required.size() > term.max) return false;
    for (const std::string& name : term.required) {
      Conjunction value;
      for (const Term::Leaf& leaf : term.leaves) member_literals(leaf, name, value);
      for (const auto& [own, literal] : term.members)
        if (own == name) value.push_back(literal);
      if (!possible(value, depth - 1)) return false;
    }
  }
  if (type == Type::array) {
    std::uint64_t named = 1;
    for (const Term::Leaf& leaf : term.leaves) named = std::max(named, named_items(leaf) + 1);
    for (std::uint64_t i = 0; i < std::min(named, term.min); ++i) {
      Conjunction value;
      for (const Term::Leaf& leaf : term.leaves) item_literals(leaf, i, value);
      if (!possible(value, depth - 1)) return false;
    }
  }
  return true;
}

bool SchemaExpander::possible(const Conjunction& what, int depth) {
  Conjunction rest = what;
  simplify(rest);
  if (rest.empty()) return true;
  for (const Type type : kTypes)
    for (const Term& term : expand(rest, type))
      if (possible(term, type, depth)) return true;
  return false;
}

}  // namespace weft::grammar
