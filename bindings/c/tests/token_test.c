#include "check.h"

static const char once[] = "Once upon a time";

static void texts_become_tokens_and_texts_again(void) {
  weft_error* error = NULL;
  weft_token tokens[64];
  size_t n = 0;
  if (!OK(weft_tokenize(stories(), once, strlen(once), WEFT_TOKENIZE_ADD_SPECIAL, tokens, 64, &n,
                        &error)))
    return;
  CHECK(n > 1);
  weft_token bos = -2;
  OK(weft_token_get_special(stories(), WEFT_SPECIAL_BOS, &bos, &error));
  CHECK(tokens[0] == bos);
  weft_text text = {NULL, 0};
  OK(weft_detokenize(stories(), tokens, n, WEFT_DETOKENIZE_STRIP_SPACE_PREFIX, &text, &error));
  CHECK(text.size == strlen(once) && memcmp(text.data, once, text.size) == 0);
  weft_text_free(&text);

  size_t needed = 0;
  REFUSED(WEFT_ERROR_CAPACITY, "room for 2",
          weft_tokenize(stories(), once, strlen(once), WEFT_TOKENIZE_ADD_SPECIAL, tokens, 2,
                        &needed, &error));
  CHECK(needed == n);
  CHECK(weft_tokenize(stories(), NULL, 0, 0, NULL, 0, &n, NULL) == WEFT_SUCCESS && n == 0);
  REFUSED(WEFT_ERROR_ARGUMENT, "`text` is NULL",
          weft_tokenize(stories(), NULL, 3, 0, tokens, 64, &n, &error));
  /* Any bytes are texts. */
  OK(weft_tokenize(stories(), "\xff\0\x80", 3, 0, tokens, 64, &n, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "unknown bits 0x200",
          weft_tokenize(stories(), once, 4, 1u << 9, tokens, 64, &n, &error));
  OK(weft_tokenize(stories(), "\xff", 1, 0, tokens, 64, &n, &error));
  if (OK(weft_detokenize(stories(), tokens, n,
                         WEFT_DETOKENIZE_STRIP_SPACE_PREFIX | WEFT_DETOKENIZE_REPLACE_INVALID,
                         &text, &error)))
    CHECK(strcmp(text.data, "\xef\xbf\xbd") == 0);
  weft_text_free(&text);
  const weft_token wrong[] = {-1, 1 << 30};
  REFUSED(WEFT_ERROR_ARGUMENT, "", weft_detokenize(stories(), wrong, 2, 0, &text, &error));
}

static void tokens_have_facts(void) {
  weft_error* error = NULL;
  weft_token eos = -1, found = -1, newline = -1;
  weft_token_info info = {.struct_size = sizeof info};
  const char* data = NULL;
  size_t size = 0;
  OK(weft_token_get_special(stories(), WEFT_SPECIAL_EOS, &eos, &error));
  if (OK(weft_token_get_info(stories(), eos, &info, &error)))
    CHECK((info.flags & WEFT_TOKEN_CONTROL) && (info.flags & WEFT_TOKEN_ENDS_TEXT) &&
          (info.flags & WEFT_TOKEN_HIDDEN));
  if (OK(weft_token_get_text(stories(), eos, &data, &size, &error))) {
    OK(weft_token_find(stories(), data, size, &found, &error));
    CHECK(found == eos);
  }
  OK(weft_token_get_special(stories(), WEFT_SPECIAL_NEWLINE, &newline, &error));
  if (newline >= 0 && OK(weft_token_get_bytes(stories(), newline, &data, &size, &error)))
    CHECK(size == 1 && data[0] == '\n');
  OK(weft_token_find(stories(), "no such token", 13, &found, &error));
  CHECK(found == -1);
  REFUSED(WEFT_ERROR_ARGUMENT, "not in the vocabulary",
          weft_token_get_bytes(stories(), -1, &data, &size, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "not in the vocabulary",
          weft_token_get_info(stories(), 1 << 30, &info, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`which`", weft_token_get_special(stories(), 99, &found, &error));
}

static void detokenizers_give_whole_characters(void) {
  weft_error* error = NULL;
  weft_detokenizer* detokenizer = NULL;
  weft_token tokens[64];
  size_t n = 0, length = 0;
  char joined[256];
  const char text[] = "na\xc3\xafve \xf0\x9f\x99\x82";
  OK(weft_tokenize(stories(), text, strlen(text), 0, tokens, 64, &n, &error));
  if (!OK(weft_detokenizer_open(stories(), WEFT_DETOKENIZE_STRIP_SPACE_PREFIX, &detokenizer,
                                &error)))
    return;
  for (size_t i = 0; i <= n; ++i) {
    const char* piece = NULL;
    size_t size = 0;
    if (i < n)
      OK(weft_detokenizer_push(detokenizer, tokens[i], &piece, &size, &error));
    else
      OK(weft_detokenizer_finish(detokenizer, &piece, &size, &error));
    CHECK(size == 0 || (piece[0] & 0xc0) != 0x80);
    memcpy(joined + length, piece, size);
    length += size;
  }
  CHECK(length == strlen(text) && memcmp(joined, text, length) == 0);
  const char* piece = NULL;
  size_t size = 0;
  REFUSED(WEFT_ERROR_ARGUMENT, "not in the vocabulary",
          weft_detokenizer_push(detokenizer, -5, &piece, &size, &error));
  weft_detokenizer_free(detokenizer);
}

const test_case token_tests[] = {
    {"texts become tokens, and texts again", texts_become_tokens_and_texts_again},
    {"tokens have facts", tokens_have_facts},
    {"detokenizers give whole characters", detokenizers_give_whole_characters},
    {NULL, NULL}};
