#include "weft/grammar/grammar.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "weft/base/printable.h"
#include "weft/base/text.h"

#include "border/arguments.h"
#include "border/call.h"
#include "border/objects.h"
#include "text/constraints.h"

namespace weft::c_api {
namespace {

struct ConstraintObject : Object {
  static constexpr Kind kKind = Kind::constraint;
  ConstraintObject(std::shared_ptr<const Grammar> grammar, std::shared_ptr<ModelObject> of)
      : Object(kKind), model(std::move(of)), constraint(std::move(grammar), model->tree()) {}
  TokenConstraint& inner() { return constraint; }

  const std::shared_ptr<ModelObject> model;
  Gate gate{"constraint", Gate::Threads::none};
  TokenConstraint constraint;
  std::vector<float> logits;
};

using UsedConstraint = Used<ConstraintObject>;

std::vector<std::string> choices_of(std::string_view json, const std::string& place) {
  using List = nlohmann::json;
  List list;
  try {
    list = List::parse(json);
  } catch (const List::exception& e) {
    fail<FormatError>("{}: not JSON: {}", place, printable(without_json_id(e.what()), 300));
  }
  if (!list.is_array() || list.empty() ||
      !std::ranges::all_of(list, [](const List& item) { return item.is_string(); }))
    fail<FormatError>("{}: must be a JSON array of one or more texts", place);
  return list.get<std::vector<std::string>>();
}

std::shared_ptr<const Grammar> compile_grammar(const Constraint& constraint,
                                               const ModelObject* model) {
  if (model) return compile_constraint(constraint, *model->vocabulary);
  if (constraint.kind == Constraint::Kind::gbnf) return Grammar::from_gbnf(constraint.text);
  return compile_constraint(constraint, Vocabulary({}));  // no other kind names tokens
}

// The size of the vocabulary, or of the model's logits, which may have more rows.
void check_width(const ModelObject& model, std::size_t n) {
  const std::int64_t size = model.vocabulary->size();
  const std::int64_t width = model.model ? model.model->facts().n_vocab : size;
  if (std::cmp_not_equal(n, size) && std::cmp_not_equal(n, width))
    fail<ShapeError>("`logits` has {} numbers, but the model has {} tokens", n, size);
}

}  // namespace

Constraint constraint_of(std::int32_t kind, std::string_view text, const std::string& place) {
  using Wanted = Constraint::Kind;
  switch (kind) {
    case WEFT_GRAMMAR_GBNF:
      return {.kind = Wanted::gbnf, .text = std::string(text)};
    case WEFT_GRAMMAR_JSON_SCHEMA:
      return {.kind = Wanted::json_schema, .text = std::string(text)};
    case WEFT_GRAMMAR_JSON_OBJECT:
      return {.kind = Wanted::json_object};
    case WEFT_GRAMMAR_REGEX:
      return {.kind = Wanted::regex, .text = std::string(text)};
    case WEFT_GRAMMAR_CHOICE:
      return {.kind = Wanted::choice, .choices = choices_of(text, place)};
    default:
      fail<ValueError>("the kind of a constraint must be from 0 to {} (WEFT_GRAMMAR_...), got {}",
                       int{WEFT_GRAMMAR_CHOICE}, kind);
  }
}

Constraint reply_constraint(std::int32_t kind, const char* text) {
  const std::string place = "constraint";
  if (!text && kind == WEFT_GRAMMAR_GBNF) return {};
  if (!text && kind != WEFT_GRAMMAR_JSON_OBJECT)
    fail<ValueError>("`constraint` is NULL, but constraint_kind is {}", kind);
  Constraint constraint = constraint_of(kind, text_or(text), place);
  constraint.place = place;
  return constraint;
}

}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_grammar_open(int32_t kind, const char* data, size_t size, weft_model* model,
                              weft_grammar** grammar, weft_error** error) {
  return call(error, [&] {
    required(grammar, "grammar");
    const auto m = model ? pin<ModelObject>(model) : nullptr;
    const Constraint constraint = constraint_of(kind, text(data, size, "text"), "text");
    *grammar = handle_of<weft_grammar>(
        std::make_shared<GrammarObject>(compile_grammar(constraint, m.get())));
  });
}

weft_status weft_grammar_accepts(weft_grammar* grammar, const char* data, size_t size,
                                 int32_t* accepts, weft_error** error) {
  return call(error, [&] {
    const auto g = pin<GrammarObject>(grammar);
    required(accepts, "accepts");
    *accepts = g->grammar->accepts(text(data, size, "text")) ? 1 : 0;
  });
}

weft_status weft_grammar_free(weft_grammar* grammar) {
  return free_handle<GrammarObject>(grammar);
}

weft_status weft_constraint_open(weft_grammar* grammar, weft_model* model,
                                 weft_constraint** constraint, weft_error** error) {
  return call(error, [&] {
    required(constraint, "constraint");
    const auto g = pin<GrammarObject>(grammar);
    *constraint = handle_of<weft_constraint>(
        std::make_shared<ConstraintObject>(g->grammar, pin<ModelObject>(model)));
  });
}

weft_status weft_constraint_get_mask(weft_constraint* constraint, const uint64_t** words,
                                     size_t* n_words, weft_error** error) {
  return call(error, [&] {
    const UsedConstraint c(constraint);
    required(words, "words");
    required(n_words, "n_words");
    const auto mask = c->mask();
    *words = mask.data();
    *n_words = mask.size();
  });
}

weft_status weft_constraint_apply(weft_constraint* constraint, float* logits, size_t n,
                                  weft_error** error) {
  return call(error, [&] {
    const UsedConstraint c(constraint);
    const auto given = array(logits, n, "logits");
    check_width(*c.object()->model, n);
    // They stay as they are if no token is allowed.
    std::vector<float>& applied = c.object()->logits;
    applied.assign(given.begin(), given.end());
    c->apply(applied);
    std::ranges::copy(applied, given.begin());
  });
}

weft_status weft_constraint_accept(weft_constraint* constraint, weft_token token,
                                   weft_error** error) {
  return call(error, [&] {
    const UsedConstraint c(constraint);
    if (!c->accept(token))
      fail<ValueError>("the grammar does not allow token {} after this text", token);
  });
}

weft_status weft_constraint_reset(weft_constraint* constraint, weft_error** error) {
  return call(error, [&] { UsedConstraint(constraint)->reset(); });
}

weft_status weft_constraint_get_state(weft_constraint* constraint, int32_t* may_end,
                                      int32_t* may_continue, weft_error** error) {
  return call(error, [&] {
    const UsedConstraint c(constraint);
    required(may_end, "may_end");
    required(may_continue, "may_continue");
    *may_end = c->may_end() ? 1 : 0;
    *may_continue = c->may_continue() ? 1 : 0;
  });
}

weft_status weft_constraint_get_forced(weft_constraint* constraint, size_t max_bytes,
                                       weft_text* forced, weft_error** error) {
  return call(error, [&] {
    const UsedConstraint c(constraint);
    required(forced, "text");
    write_text(forced, c->forced(max_bytes));
  });
}

weft_status weft_constraint_free(weft_constraint* constraint) {
  return free_handle<ConstraintObject>(constraint);
}
