#pragma once
// The values of templates: Python's, as far as templates can tell the difference. All values of one
// render are in its heap and are freed together with it, so that they may refer to each other
// freely.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weft/template/chat_template.h"

namespace weft::jinja {

// Parses a number with a point or an exponent, independent of the locale. Overflow gives infinity,
// underflow zero. Returns nullopt if the text is not a number.
std::optional<double> read_real(const std::string& text);

enum class Kind : std::uint8_t {
  undefined,  // text: what is missing, or none
  none,
  boolean,
  integer,
  big,  // text: the digits of a number that 64 bits do not hold; it is only passed on
  real,
  string,
  list,
  dict,
  space,  // namespace(): a dict that can be assigned to
  callable,
  loop,
};

struct Str;
struct List;
struct Dict;
struct Callable;
struct Loop;

struct Value {
  Kind kind = Kind::undefined;
  union {
    bool boolean;
    std::int64_t integer;
    double real;
    const Str* text = nullptr;
    List* list;
    Dict* dict;
    Callable* callable;
    Loop* loop;
  };

  static Value none() { return of(Kind::none); }
  static Value of(Kind kind) {
    Value v;
    v.kind = kind;
    return v;
  }
  static Value from(bool b) {
    Value v = of(Kind::boolean);
    v.boolean = b;
    return v;
  }
  static Value from(std::int64_t i) {
    Value v = of(Kind::integer);
    v.integer = i;
    return v;
  }
  static Value from(double d) {
    Value v = of(Kind::real);
    v.real = d;
    return v;
  }
  static Value from(const Str* s, Kind kind = Kind::string) {
    Value v = of(kind);
    v.text = s;
    return v;
  }
  static Value from(List* l) {
    Value v = of(Kind::list);
    v.list = l;
    return v;
  }
  static Value from(Dict* d, Kind kind = Kind::dict) {
    Value v = of(kind);
    v.dict = d;
    return v;
  }
  static Value from(Callable* c) {
    Value v = of(Kind::callable);
    v.callable = c;
    return v;
  }
  static Value from(Loop* l) {
    Value v = of(Kind::loop);
    v.loop = l;
    return v;
  }
  bool is(Kind k) const { return kind == k; }
  bool is_number() const {
    return kind == Kind::boolean || kind == Kind::integer || kind == Kind::real;
  }
};

// REQUIRES: a boolean or an integer.
inline std::int64_t whole(const Value& v) {
  return v.is(Kind::boolean) ? static_cast<std::int64_t>(v.boolean) : v.integer;
}

// A text that records which of its bytes came from messages. Immutable.
struct Str {
  std::string text;
  std::vector<TextRange> foreign;  // ascending, apart
  bool markup = false;             // marked as safe HTML: what is added to it is escaped
  std::size_t length = 0;          // characters
  bool ascii() const { return length == text.size(); }
};

struct List {
  enum class Type : std::uint8_t { list, tuple, range, iterator, keys, values, items };
  std::vector<Value> items;
  Type type = Type::list;
  std::size_t taken = 0;  // an iterator: the items before were used up
  bool group = false;     // a tuple of groupby(), whose items have names
};

class Heap;

// In order of insertion.
struct Dict {
  std::vector<std::pair<Value, Value>> items;
  std::unordered_multimap<std::size_t, std::size_t> index;  // hash to position, in large dicts

  const Value* find(Heap& heap, const Value& key) const;
  const Value* find(std::string_view key) const;
  void set(Heap& heap, const Value& key, const Value& value);

 private:
  template <class Equal>
  const Value* find_if(std::size_t hash, const Equal& equal) const;
};

struct Runtime;
struct Args;
struct Node;
struct Scope;

using Native = Value (*)(Runtime&, const Value& self, Args& args);

// What a call of a native function costs. The call charges it before it runs the function.
struct NativeCost {
  // What the function may read. Others charge themselves for what they read.
  enum class Reads : std::uint8_t { all, arguments, nothing };
  Reads reads = Reads::all;
  std::uint8_t price = 1;  // times Heap::work() of a text, or a step for each item
};

struct Callable {
  std::string_view name;
  Native native = nullptr;
  NativeCost cost = {};
  Value self;                   // the object of a bound method, a cycler, a joiner
  const Node* macro = nullptr;  // else
  Scope* closure = nullptr;
};

struct Loop {
  std::vector<Value> items;
  std::size_t at = 0;
  const Node* node = nullptr;  // a recursive loop; null otherwise
  Scope* scope = nullptr;
  std::int64_t depth0 = 0;
  bool has_last = false;
  Value last;  // what changed() saw
};

// Concatenates a text from parts.
struct TextBuilder {
  std::string text;
  std::vector<TextRange> foreign;
  bool markup = false;

  void add(std::string_view own) { text += own; }
  void add(const Str& part) { add(part, 0, part.text.size()); }
  void add(const Str& part, std::size_t begin, std::size_t end);
  void add_foreign(std::string_view part);
};

struct Scope {
  Scope* parent = nullptr;
  bool captured = false;  // a macro may still look here
  std::vector<std::pair<std::string_view, Value>> names;
};

// Owns all values of one render, and enforces its cost limits. Throws ChatTemplateError through
// fail().
class Heap {
 public:
  Heap(std::string_view source, const ChatRenderLimits& limits)
      : source_(source), limits_(limits) {}
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  const Str* str(std::string_view text);
  const Str* str(TextBuilder&& text);
  const Str* slice(const Str& whole, std::size_t begin, std::size_t end);  // bytes
  Value text(std::string_view t) { return Value::from(str(t)); }
  Value undefined(std::string_view why) { return Value::from(str(why), Kind::undefined); }
  List* list(List::Type type = List::Type::list) { return keep(lists_, List{{}, type, 0}, 64); }
  List* list(std::vector<Value> items, List::Type type = List::Type::list);
  Dict* dict() { return keep(dicts_, Dict{}, 128); }
  Callable* callable(Callable c) { return keep(callables_, Callable(c), 64); }
  Loop* loop(Loop l) { return keep(loops_, std::move(l), 128); }
  Scope* scope(Scope* parent);
  void release_scope(Scope* scope);  // its names end here, unless a macro kept it

  void charge(std::size_t bytes);  // counts memory
  // Reading a text character by character, and reading or copying its bytes as a block. A step is
  // the time of a simple expression; bench/template_bench.cpp measures what it buys.
  void work(std::size_t bytes) { step(bytes / 4 + 1); }
  void scan(std::size_t bytes) { step(bytes / 64 + 1); }
  void step(std::size_t n = 1);
  std::size_t steps() const { return steps_; }
  // No text may exceed the limit of the output, not even an intermediate one. Call it while a text
  // grows.
  void check_length(std::size_t bytes) const;

  const ChatRenderLimits& limits() const { return limits_; }

  std::size_t at = 0;  // offset in the source of what is being done
  using Cause = ChatTemplateError::Cause;
  [[noreturn]] void fail_text(std::string message, Cause cause = Cause::fault) const;
  template <class... A>
  [[noreturn]] void fail(fmt::format_string<A...> text, A&&... args) const {
    fail_text(fmt::format(text, std::forward<A>(args)...));
  }
  // For limits.
  template <class... A>
  [[noreturn]] void exceed(fmt::format_string<A...> text, A&&... args) const {
    fail_text(fmt::format(text, std::forward<A>(args)...), Cause::limit);
  }

 private:
  template <class T>
  T* keep(std::deque<T>& all, T&& one, std::size_t bytes) {
    charge(bytes);
    return &all.emplace_back(std::move(one));
  }

  std::string_view source_;
  ChatRenderLimits limits_;
  std::size_t bytes_ = 0, steps_ = 0;
  std::deque<Str> strs_;
  std::deque<List> lists_;
  std::deque<Dict> dicts_;
  std::deque<Callable> callables_;
  std::deque<Loop> loops_;
  std::deque<Scope> scopes_;
  std::vector<Scope*> free_;
};

struct Position {
  std::size_t line = 1, column = 1;  // from 1, in characters
};
Position position(std::string_view source, std::size_t offset);

// Python's names and rules.
std::string_view type_name(const Value& v);
bool truth(const Value& v);
bool equal(Heap& heap, const Value& a, const Value& b, int depth = 0);
int compare(Heap& heap, std::string_view op, const Value& a, const Value& b, int depth = 0);
std::size_t hash(Heap& heap, const Value& v, int depth = 0);

const Str* to_str(Heap& heap, const Value& v);  // str(v)
std::string repr(Heap& heap, const Value& v);   // repr(v)
void repr(Heap& heap, const Value& v, TextBuilder& out, int depth);
std::string repr(double d);
// The items of v; an iterator is consumed. Fails if Python would.
std::vector<Value> iterate(Heap& heap, const Value& v);
bool iterable(const Value& v);

// json.dumps with its options.
struct JsonStyle {
  bool ensure_ascii = false, sort_keys = false;
  bool indented = false;
  std::string indent;
  std::string item_separator = ", ", key_separator = ": ";
};
void to_json(Heap& heap, const Value& v, const JsonStyle& style, TextBuilder& out, int depth = 0);
// A JSON text as a value; `what` it is stands in errors. Which of its strings are marked as
// foreign: `messages` are those within the members messages, tools and documents. Throws
// FormatError.
enum class Foreign : std::uint8_t { none, messages, all };
Value from_json(Heap& heap, std::string_view what, std::string_view text, Foreign foreign);

// The maximum nesting of values that are traversed.
inline constexpr int kMaxValueDepth = 200;

// White space and decimal digits, as str.isspace() and str.isdecimal() have them.
bool is_space(char32_t c);
bool is_decimal(char32_t c);
std::size_t skip_spaces(std::string_view text, std::size_t at);
std::string_view trim_right(std::string_view text);

}  // namespace weft::jinja
