#include <math.h>
#include <stdlib.h>

#include "check.h"

static weft_grammar* open_grammar(int32_t kind, const char* text) {
  weft_error* error = NULL;
  weft_grammar* grammar = NULL;
  OK(weft_grammar_open(kind, text, strlen(text), NULL, &grammar, &error));
  return grammar;
}

static int accepts(weft_grammar* grammar, const char* text) {
  weft_error* error = NULL;
  int32_t yes = -1;
  OK(weft_grammar_accepts(grammar, text, strlen(text), &yes, &error));
  return yes;
}

static void grammars_of_all_kinds_accept_their_texts(void) {
  static const struct {
    int32_t kind;
    const char *text, *good, *bad;
  } cases[] = {
      {WEFT_GRAMMAR_GBNF, "root ::= \"a\" [0-9]+", "a42", "a"},
      {WEFT_GRAMMAR_JSON_SCHEMA,
       "{\"type\": \"object\", \"properties\": {\"x\": {\"type\": \"integer\"}}}", "{\"x\": 1}",
       "{\"x\": \"1\"}"},
      {WEFT_GRAMMAR_JSON_OBJECT, "", "{\"a\": [1, null]}", "[1]"},
      {WEFT_GRAMMAR_REGEX, "[a-c]{2}", "ab", "abc"},
      {WEFT_GRAMMAR_CHOICE, "[\"yes\", \"n\\\"o\", \"\\u00fc\"]", "n\"o", "no"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    weft_grammar* grammar = open_grammar(cases[i].kind, cases[i].text);
    CHECK(accepts(grammar, cases[i].good) == 1);
    CHECK(accepts(grammar, cases[i].bad) == 0);
    CHECK(weft_grammar_free(grammar) == WEFT_SUCCESS);
  }
  /* Objects of a schema have no other members. */
  weft_grammar* closed = open_grammar(cases[1].kind, cases[1].text);
  CHECK(accepts(closed, "{\"y\": 1}") == 0);
  weft_grammar_free(closed);
}

static void malformed_grammars_are_refused(void) {
  static const struct {
    int32_t kind;
    const char* text;
    weft_status status;
    const char* message;
  } cases[] = {
      {WEFT_GRAMMAR_GBNF, "root ::= (", WEFT_ERROR_FORMAT, "1:10"},
      {WEFT_GRAMMAR_GBNF, "root ::= \"\xff\"", WEFT_ERROR_FORMAT, ""},
      {WEFT_GRAMMAR_GBNF, "root ::= <nothing>", WEFT_ERROR_FORMAT, ""},
      {WEFT_GRAMMAR_GBNF, "", WEFT_ERROR_FORMAT, ""},
      {WEFT_GRAMMAR_JSON_SCHEMA, "{", WEFT_ERROR_FORMAT, ""},
      {WEFT_GRAMMAR_JSON_SCHEMA, "\xff", WEFT_ERROR_FORMAT, ""},
      {WEFT_GRAMMAR_JSON_SCHEMA, "{\"$ref\": \"http://x\"}", WEFT_ERROR_UNSUPPORTED, ""},
      {WEFT_GRAMMAR_REGEX, "(", WEFT_ERROR_FORMAT, ""},
      {WEFT_GRAMMAR_CHOICE, "yes", WEFT_ERROR_FORMAT, "text: not JSON"},
      {WEFT_GRAMMAR_CHOICE, "[]", WEFT_ERROR_FORMAT, "array of one or more texts"},
      {WEFT_GRAMMAR_CHOICE, "[1]", WEFT_ERROR_FORMAT, "array of one or more texts"},
      {5, "", WEFT_ERROR_ARGUMENT, "WEFT_GRAMMAR_"},
      {-1, "", WEFT_ERROR_ARGUMENT, "WEFT_GRAMMAR_"},
  };
  weft_error* error = NULL;
  weft_grammar* grammar = NULL;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
    REFUSED(cases[i].status, cases[i].message,
            weft_grammar_open(cases[i].kind, cases[i].text, strlen(cases[i].text), NULL, &grammar,
                              &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`text` is NULL",
          weft_grammar_open(WEFT_GRAMMAR_GBNF, NULL, 3, NULL, &grammar, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "no array has",
          weft_grammar_open(WEFT_GRAMMAR_GBNF, "x", (size_t)1 << 63, NULL, &grammar, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`grammar` is NULL",
          weft_grammar_open(WEFT_GRAMMAR_JSON_OBJECT, NULL, 0, NULL, NULL, &error));
  REFUSED(WEFT_ERROR_HANDLE, "the grammar is NULL",
          weft_grammar_accepts(NULL, "x", 1, NULL, &error));
  CHECK(grammar == NULL);
}

static void deeply_nested_texts_are_refused(void) {
  enum { kDepth = 200000 };
  static const char* const opens[] = {"(", "{\"items\": ", "", "(", "["};
  weft_error* error = NULL;
  weft_grammar* grammar = NULL;
  for (int32_t kind = 0; kind < 5; ++kind) {
    if (kind == WEFT_GRAMMAR_JSON_OBJECT) continue;
    const size_t n = strlen(opens[kind]);
    char* text = malloc(16 + kDepth * n);
    size_t at = (size_t)sprintf(text, "%s", kind == WEFT_GRAMMAR_GBNF ? "root ::= " : "");
    for (int i = 0; i < kDepth; ++i, at += n) memcpy(text + at, opens[kind], n);
    const weft_status status = weft_grammar_open(kind, text, at, NULL, &grammar, &error);
    CHECK(status == WEFT_ERROR_FORMAT || status == WEFT_ERROR_BUDGET);
    weft_error_free(error);
    free(text);
  }
}

static int allowed(const uint64_t* mask, weft_token token) {
  return (int)(mask[token / 64] >> (token % 64) & 1);
}

static int32_t n_tokens(void) {
  weft_error* error = NULL;
  weft_model_info info = {.struct_size = sizeof info};
  OK(weft_model_get_info(stories(), &info, &error));
  return (int32_t)info.n_vocab;
}

/* The text so far, continued by this token, may become one of 'a', 'b' or 'c' twice. */
static int fits(const char* so_far, weft_token token) {
  weft_error* error = NULL;
  const char* data = NULL;
  size_t size = 0, length = strlen(so_far);
  weft_token_info info = {.struct_size = sizeof info};
  OK(weft_token_get_info(stories(), token, &info, &error));
  if (info.flags & WEFT_TOKEN_ENDS_TEXT) return length == 2;
  if (info.flags & WEFT_TOKEN_HIDDEN) return 0;
  OK(weft_token_get_bytes(stories(), token, &data, &size, &error));
  if (size == 0 || length + size > 2) return 0;
  for (size_t i = 0; i < size; ++i)
    if (data[i] < 'a' || data[i] > 'c') return 0;
  return 1;
}

static weft_token token_of(const char* bytes) {
  weft_error* error = NULL;
  const char* data = NULL;
  size_t size = 0;
  for (weft_token t = 0; t < n_tokens(); ++t) {
    OK(weft_token_get_bytes(stories(), t, &data, &size, &error));
    if (size == strlen(bytes) && memcmp(data, bytes, size) == 0) return t;
  }
  return -1;
}

static void masks_allow_what_the_grammar_allows(void) {
  weft_error* error = NULL;
  weft_constraint* constraint = NULL;
  weft_grammar* grammar = open_grammar(WEFT_GRAMMAR_REGEX, "[a-c]{2}");
  if (!OK(weft_constraint_open(grammar, stories(), &constraint, &error))) return;
  weft_grammar_free(grammar); /* the constraint keeps what it needs */
  const uint64_t* mask = NULL;
  size_t n_words = 0;
  int32_t may_end = -1, may_continue = -1;
  const char* texts[] = {"", "a", "ab"};
  for (size_t i = 0; i < 3; ++i) {
    OK(weft_constraint_get_mask(constraint, &mask, &n_words, &error));
    CHECK(n_words == (size_t)(n_tokens() + 63) / 64);
    int differ = 0;
    for (weft_token t = 0; t < n_tokens(); ++t) differ += allowed(mask, t) != fits(texts[i], t);
    CHECK(differ == 0);
    OK(weft_constraint_get_state(constraint, &may_end, &may_continue, &error));
    CHECK(may_end == (i == 2) && may_continue == (i < 2));
    const char next[] = {"ab"[i], '\0'};
    if (i < 2) OK(weft_constraint_accept(constraint, token_of(next), &error));
  }
  OK(weft_constraint_reset(constraint, &error));
  OK(weft_constraint_get_mask(constraint, &mask, &n_words, &error));
  CHECK(allowed(mask, token_of("c")) == 1);
  REFUSED(WEFT_ERROR_ARGUMENT, "does not allow token",
          weft_constraint_accept(constraint, token_of("d"), &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "token -1", weft_constraint_accept(constraint, -1, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "", weft_constraint_accept(constraint, INT32_MAX, &error));
  CHECK(weft_constraint_free(constraint) == WEFT_SUCCESS);
  REFUSED(WEFT_ERROR_HANDLE, "the constraint was freed", weft_constraint_reset(constraint, &error));
}

static void logits_of_other_tokens_become_infinite(void) {
  weft_error* error = NULL;
  weft_constraint* constraint = NULL;
  weft_grammar* grammar = open_grammar(WEFT_GRAMMAR_CHOICE, "[\"bc\"]");
  if (!OK(weft_constraint_open(grammar, stories(), &constraint, &error))) return;
  const size_t n = (size_t)n_tokens();
  float* logits = malloc(n * sizeof *logits);
  for (size_t i = 0; i < n; ++i) logits[i] = 1;
  OK(weft_constraint_apply(constraint, logits, n, &error));
  const uint64_t* mask = NULL;
  size_t n_words = 0, differ = 0;
  OK(weft_constraint_get_mask(constraint, &mask, &n_words, &error));
  for (size_t i = 0; i < n; ++i)
    differ += logits[i] != (allowed(mask, (weft_token)i) ? 1.0F : -INFINITY);
  CHECK(differ == 0 && logits[token_of("b")] == 1);
  REFUSED(WEFT_ERROR_SHAPE, "tokens", weft_constraint_apply(constraint, logits, n - 1, &error));
  REFUSED(WEFT_ERROR_SHAPE, "tokens", weft_constraint_apply(constraint, logits, 0, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`logits` is NULL",
          weft_constraint_apply(constraint, NULL, n, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "no array has",
          weft_constraint_apply(constraint, logits, (size_t)1 << 63, &error));
  /* If no token is left, the logits stay as they are. */
  for (size_t i = 0; i < n; ++i) logits[i] = allowed(mask, (weft_token)i) ? -INFINITY : 2;
  REFUSED(WEFT_ERROR_ARGUMENT, "", weft_constraint_apply(constraint, logits, n, &error));
  CHECK(logits[token_of("a")] == 2);
  free(logits);
  weft_constraint_free(constraint);
  weft_grammar_free(grammar);
}

static void forced_bytes_are_known(void) {
  weft_error* error = NULL;
  weft_constraint* constraint = NULL;
  weft_grammar* grammar = open_grammar(WEFT_GRAMMAR_CHOICE, "[\"bc\"]");
  if (!OK(weft_constraint_open(grammar, stories(), &constraint, &error))) return;
  const uint64_t* mask = NULL;
  size_t n_words = 0;
  weft_text text = {NULL, 0};
  OK(weft_constraint_get_forced(constraint, SIZE_MAX, &text, &error));
  CHECK(text.size == 2 && strcmp(text.data, "bc") == 0);
  weft_text_free(&text);
  OK(weft_constraint_get_forced(constraint, 1, &text, &error));
  CHECK(text.size == 1 && strcmp(text.data, "b") == 0);
  weft_text_free(&text);
  REFUSED(WEFT_ERROR_ARGUMENT, "`text` is NULL",
          weft_constraint_get_forced(constraint, 1, NULL, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`words` is NULL",
          weft_constraint_get_mask(constraint, NULL, &n_words, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`n_words` is NULL",
          weft_constraint_get_mask(constraint, &mask, NULL, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`may_end` is NULL",
          weft_constraint_get_state(constraint, NULL, NULL, &error));
  weft_constraint_free(constraint);
  REFUSED(WEFT_ERROR_HANDLE, "a grammar was given, expected a model",
          weft_constraint_open(grammar, (weft_model*)grammar, &constraint, &error));
  weft_grammar_free(grammar);
  REFUSED(WEFT_ERROR_HANDLE, "the grammar was freed",
          weft_constraint_open(grammar, stories(), &constraint, &error));
}

static void grammars_name_tokens_of_a_model(void) {
  weft_error* error = NULL;
  weft_grammar* grammar = NULL;
  weft_constraint* constraint = NULL;
  const char* text = NULL;
  size_t size = 0;
  char gbnf[64];
  weft_token bos = -1;
  OK(weft_token_get_special(stories(), WEFT_SPECIAL_BOS, &bos, &error));
  OK(weft_token_get_text(stories(), bos, &text, &size, &error));
  snprintf(gbnf, sizeof gbnf, "root ::= %.*s", (int)size, text);
  if (text[0] != '<') snprintf(gbnf, sizeof gbnf, "root ::= <%.*s>", (int)size, text);
  REFUSED(WEFT_ERROR_FORMAT, "",
          weft_grammar_open(WEFT_GRAMMAR_GBNF, gbnf, strlen(gbnf), NULL, &grammar, &error));
  if (!OK(weft_grammar_open(WEFT_GRAMMAR_GBNF, gbnf, strlen(gbnf), stories(), &grammar, &error)))
    return;
  OK(weft_constraint_open(grammar, stories(), &constraint, &error));
  const uint64_t* mask = NULL;
  size_t n_words = 0;
  OK(weft_constraint_get_mask(constraint, &mask, &n_words, &error));
  for (weft_token t = 0; t < n_tokens(); ++t)
    if (allowed(mask, t) != (t == bos)) CHECK(!"only the named token is allowed");
  OK(weft_constraint_accept(constraint, bos, &error));
  weft_constraint_free(constraint);
  CHECK(accepts(grammar, "<s>") == 0); /* a text has no tokens */
  weft_grammar_free(grammar);
}

const test_case grammar_tests[] = {
    {"grammars of all kinds accept their texts", grammars_of_all_kinds_accept_their_texts},
    {"malformed grammars are refused", malformed_grammars_are_refused},
    {"deeply nested texts are refused", deeply_nested_texts_are_refused},
    {"masks allow what the grammar allows", masks_allow_what_the_grammar_allows},
    {"logits of other tokens become infinite", logits_of_other_tokens_become_infinite},
    {"forced bytes are known", forced_bytes_are_known},
    {"grammars name tokens of a model", grammars_name_tokens_of_a_model},
    {NULL, NULL}};
