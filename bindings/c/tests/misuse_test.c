/* What the contract says about calls that are wrong: nothing is written, and nothing breaks. */
#include <math.h>

#include "check.h"

static const char once[] = "Once upon a time";

/* Each function gives a pointer and a size, of which one is NULL. */
static void of_two_results_none_is_written_alone(void) {
  weft_error* error = NULL;
  const char* data = NULL;
  const char kept = 'x';
  size_t n = 77;
  weft_token tokens[3];
  data = &kept;
  REFUSED(WEFT_ERROR_ARGUMENT, "`size` is NULL",
          weft_token_get_bytes(stories(), 5, &data, NULL, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`size` is NULL",
          weft_token_get_text(stories(), 5, &data, NULL, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`data` is NULL",
          weft_token_get_text(stories(), 5, NULL, &n, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`tokens` is NULL",
          weft_tokenize(stories(), once, strlen(once), 0, NULL, 64, &n, &error));
  CHECK(data == &kept && n == 77);
  REFUSED(WEFT_ERROR_CAPACITY, "room for 3",
          weft_tokenize(stories(), once, strlen(once), 0, tokens, 3, &n, &error));
  CHECK(n > 3 && n != 77);
}

static void results_of_sequences_are_not_written_alone(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(1);
  weft_saved* saved = NULL;
  weft_text bytes = {NULL, 0};
  const weft_token token = 1;
  const weft_token* tokens = &token;
  const char* note = once;
  const float scale = 1;
  const float* scales = &scale;
  REFUSED(WEFT_ERROR_ARGUMENT, "`other` is NULL", weft_session_share(session, NULL, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`graph` is NULL", weft_graph_open(NULL, &error));
  OK(weft_session_feed(session, 0, &token, 1, NULL, NULL, &error));
  OK(weft_session_save(session, 0, &token, 1, "note", 4, &bytes, &error));
  OK(weft_saved_open_memory(bytes.data, bytes.size, &saved, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`n` is NULL", weft_saved_get_tokens(saved, &tokens, NULL, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`size` is NULL", weft_saved_get_note(saved, &note, NULL, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`n` is NULL",
          weft_session_get_lora_scales(session, 0, &scales, NULL, &error));
  CHECK(tokens == &token && note == once && scales == &scale);
  weft_saved_free(saved);
  weft_text_free(&bytes);
  weft_session_free(session);
}

static void a_detokenizer_keeps_what_it_cannot_give(void) {
  weft_error* error = NULL;
  weft_detokenizer* detokenizer = NULL;
  const char* text = NULL;
  size_t size = 0, n = 0;
  weft_token tokens[8];
  OK(weft_detokenizer_open(stories(), 0, &detokenizer, &error));
  OK(weft_tokenize(stories(), "\xc3\xa9", 2, 0, tokens, 8, &n, &error));
  OK(weft_detokenizer_push(detokenizer, tokens[0], &text, &size, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`size` is NULL",
          weft_detokenizer_push(detokenizer, tokens[0], &text, NULL, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`text` is NULL",
          weft_detokenizer_finish(detokenizer, NULL, &size, &error));
  size_t length = size;
  for (size_t i = 1; i < n; ++i) {
    OK(weft_detokenizer_push(detokenizer, tokens[i], &text, &size, &error));
    length += size;
  }
  OK(weft_detokenizer_finish(detokenizer, &text, &size, &error));
  length += size;
  weft_text whole = {NULL, 0};
  OK(weft_detokenize(stories(), tokens, n, 0, &whole, &error));
  CHECK(length == whole.size);
  weft_text_free(&whole);
  weft_detokenizer_free(detokenizer);
}

/* No version has such a struct: it could end within a pointer. */
static void structs_end_with_a_member(void) {
  weft_error* error = NULL;
  weft_model* model = NULL;
  weft_model_options options;
  for (uint32_t size = 9; size < 24; ++size) {
    if (size % 8 == 0) continue;
    memset(&options, 0x41, sizeof options);
    options.struct_size = size;
    options.vocabulary_only = 1;
    REFUSED(WEFT_ERROR_ARGUMENT, "struct_size is",
            weft_model_open(model_path(), &options, &model, &error));
    CHECK(weft_model_options_init(&options, size) == WEFT_ERROR_ARGUMENT);
  }
  weft_token_info info = {.struct_size = 10};
  REFUSED(WEFT_ERROR_ARGUMENT, "struct_size is 10",
          weft_token_get_info(stories(), 5, &info, &error));
}

/* A program of a newer version: what this one does not know becomes 0. */
static void larger_results_end_with_zeros(void) {
  weft_error* error = NULL;
  struct {
    weft_token_info info;
    unsigned char newer[16];
  } result;
  memset(&result, 0x41, sizeof result);
  result.info.struct_size = sizeof result;
  OK(weft_token_get_info(stories(), 5, &result.info, &error));
  CHECK(result.info.struct_size == sizeof result);
  for (size_t i = 0; i < sizeof result.newer; ++i) CHECK(result.newer[i] == 0);
}

static weft_status fail_strangely(void* user, const weft_choice* choice, weft_token* token,
                                  weft_error** error) {
  (void)choice, (void)token;
  return weft_error_make(*(weft_status*)user, "strange", error);
}

static weft_batch* batch_of(weft_session* session) {
  weft_error* error = NULL;
  weft_batch* batch = NULL;
  OK(weft_batch_open(session, &batch, &error));
  return batch;
}

/* Callbacks may return any number, and -1 would look like an event. */
static void numbers_that_are_no_status_become_one(void) {
  weft_error* error = NULL;
  const weft_status numbers[] = {-1, INT32_MIN, INT32_MAX, 18, WEFT_ERROR_NAN};
  weft_session* session = new_session(1);
  weft_batch* batch = batch_of(session);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
    weft_generation* text = NULL;
    weft_generation_options options;
    weft_generation_options_init(&options, sizeof options);
    options.choose = fail_strangely;
    options.choose_user = (void*)&numbers[i];
    weft_generation_event event = {.struct_size = sizeof event};
    int32_t has_event = 0;
    OK(weft_generation_open(session, 0, &options, &text, &error));
    OK(weft_generation_begin_text(text, once, strlen(once), &error));
    const weft_status wanted = numbers[i] == WEFT_ERROR_NAN ? WEFT_ERROR_NAN : WEFT_ERROR_CALLBACK;
    REFUSED(wanted, "strange", weft_generation_next(text, &event, &error));
    for (int step = 0; step < 5 && has_event == 0; ++step)
      OK(weft_batch_step(batch, &text, 1, &event, &has_event, &error));
    CHECK(has_event == -wanted && strcmp(event.text, "strange") == 0);
    weft_generation_free(text);
  }
  weft_batch_free(batch);
  weft_session_free(session);
}

/* The events of a program that was built with a newer header. */
static void events_have_the_size_that_they_say(void) {
  struct {
    weft_generation_event event;
    char more[64];
  } newer[2];
  weft_error* error = NULL;
  weft_session* session = new_session(2);
  weft_generation* texts[2] = {NULL, NULL};
  weft_batch* batch = batch_of(session);
  int32_t has_event[2] = {7, 7};
  for (int i = 0; i < 2; ++i) {
    OK(weft_generation_open(session, i, NULL, &texts[i], &error));
    OK(weft_generation_begin_text(texts[i], once, strlen(once), &error));
  }
  memset(newer, 0, sizeof newer);
  newer[0].event.struct_size = sizeof *newer;
  newer[1].event.struct_size = sizeof newer->event;
  REFUSED(WEFT_ERROR_ARGUMENT, "the struct_size of event 1",
          weft_batch_step(batch, texts, 2, &newer[0].event, has_event, &error));
  newer[1].event.struct_size = sizeof *newer;
  weft_generation* twice[2] = {texts[0], texts[0]};
  REFUSED(WEFT_ERROR_ARGUMENT, "",
          weft_batch_step(batch, twice, 2, &newer[0].event, has_event, &error));
  CHECK(has_event[0] == 7 && has_event[1] == 7);
  for (int step = 0; step < 9 && !(has_event[0] == 1 && has_event[1] == 1); ++step)
    OK(weft_batch_step(batch, texts, 2, &newer[0].event, has_event, &error));
  for (int i = 0; i < 2; ++i) {
    CHECK(has_event[i] == 1 && newer[i].event.token >= 0 && newer[i].event.text != NULL);
    CHECK(newer[i].event.struct_size == sizeof *newer);
    weft_generation_free(texts[i]);
  }
  weft_batch_free(batch);
  weft_session_free(session);
}

static weft_status infer_same(void* user, const weft_spec* inputs, size_t n,
                              const weft_value* attributes, size_t n_attributes, weft_spec* output,
                              weft_error** error) {
  (void)user, (void)n, (void)attributes, (void)n_attributes, (void)error;
  *output = inputs[0];
  return WEFT_SUCCESS;
}
static weft_status compute_number(void* user, const weft_array* inputs, size_t n,
                                  const weft_value* attributes, size_t n_attributes,
                                  weft_array* output, weft_error** error) {
  (void)user, (void)inputs, (void)n, (void)n_attributes, (void)error;
  *(float*)output->data = (float)attributes[0].number;
  return WEFT_SUCCESS;
}

static void names_of_graphs_are_utf8(void) {
  weft_error* error = NULL;
  weft_graph* graph = NULL;
  weft_tensor_id x = -1;
  const weft_dim one = {.bound = 1};
  OK(weft_graph_open(&graph, &error));
  REFUSED(WEFT_ERROR_FORMAT, "name: not UTF-8",
          weft_graph_input(graph, "x\xff", "F32", &one, 1, &x, &error));
  REFUSED(WEFT_ERROR_FORMAT, "file: not UTF-8", weft_graph_set_line(graph, "\xff", 1, &error));
  weft_graph_free(graph);
}

/* Passes merge nodes that are equal: NaN and infinity are not. */
static void numbers_of_graphs_may_be_any(void) {
  weft_error* error = NULL;
  weft_graph* graph = NULL;
  weft_text json = {NULL, 0};
  const char* names[] = {"x"};
  const weft_op number = {.struct_size = sizeof number,
                          .n_inputs = 1,
                          .name = "test_number",
                          .input_names = names,
                          .infer = infer_same,
                          .compute = compute_number};
  const weft_dim one = {.bound = 1};
  weft_tensor_id x = -1, y = -1;
  OK(weft_register_op(&number, &error));
  OK(weft_graph_open(&graph, &error));
  OK(weft_graph_input(graph, "x", "F32", &one, 1, &x, &error));
  const weft_value wrong = {.name = "text", .kind = WEFT_VALUE_TEXT, .text = "\xff"};
  REFUSED(WEFT_ERROR_FORMAT, "text: not UTF-8",
          weft_graph_op(graph, "test_number", &x, 1, &wrong, 1, &y, &error));
  const double values[] = {NAN, INFINITY, -INFINITY};
  const char* const outputs[] = {"nan", "inf", "-inf"};
  for (int i = 0; i < 3; ++i) {
    const weft_value value = {.name = "v", .kind = WEFT_VALUE_NUMBER, .number = values[i]};
    OK(weft_graph_op(graph, "test_number", &x, 1, &value, 1, &y, &error));
    OK(weft_graph_output(graph, outputs[i], y, &error));
  }
  if (OK(weft_graph_json(graph, &json, &error))) weft_text_free(&json);
  weft_computation* computation = NULL;
  OK(weft_computation_open(graph, NULL, &computation, &error));
  OK(weft_computation_run(computation, NULL, 0, &error));
  for (int i = 0; i < 3; ++i) {
    weft_array result;
    if (!OK(weft_computation_get_output(computation, outputs[i], &result, &error))) continue;
    const float value = *(const float*)result.data;
    CHECK(i == 0 ? isnan(value) : value == (float)values[i]);
  }
  weft_computation_free(computation);
  weft_graph_free(graph);
}

static void values_that_have_no_meaning_yet_are_refused(void) {
  weft_error* error = NULL;
  weft_session* session = NULL;
  weft_generation* generation = NULL;
  weft_session_options options;
  weft_session_options_init(&options, sizeof options);
  options.context = 64;
  options.embeddings = 2;
  REFUSED(WEFT_ERROR_ARGUMENT, "`embeddings` must be 0 or 1, got 2",
          weft_session_open(stories(), &options, &session, &error));
  options.embeddings = 0;
  options.executor = "\xff";
  REFUSED(WEFT_ERROR_ARGUMENT, "got '\\xff'",
          weft_session_open(stories(), &options, &session, &error));
  options.executor = NULL;
  options.embeddings = 1;
  OK(weft_session_open(stories(), &options, &session, &error));
  weft_generation_options how;
  weft_generation_options_init(&how, sizeof how);
  REFUSED(WEFT_ERROR_UNSUPPORTED, "embeddings, not logits",
          weft_generation_open(session, 0, &how, &generation, &error));
  weft_session_free(session);
  session = new_session(1);
  how.max_time_ms = INT64_MAX;
  REFUSED(WEFT_ERROR_ARGUMENT, "`max_time_ms`",
          weft_generation_open(session, 0, &how, &generation, &error));
  weft_session_free(session);
}

const test_case misuse_tests[] = {
    {"of two results none is written alone", of_two_results_none_is_written_alone},
    {"results of sequences are not written alone", results_of_sequences_are_not_written_alone},
    {"a detokenizer keeps what it cannot give", a_detokenizer_keeps_what_it_cannot_give},
    {"structs end with a member", structs_end_with_a_member},
    {"larger results end with zeros", larger_results_end_with_zeros},
    {"numbers that are no status become one", numbers_that_are_no_status_become_one},
    {"events have the size that they say", events_have_the_size_that_they_say},
    {"names of graphs are UTF-8", names_of_graphs_are_utf8},
    {"numbers of graphs may be any", numbers_of_graphs_may_be_any},
    {"values that have no meaning yet are refused", values_that_have_no_meaning_yet_are_refused},
    {NULL, NULL}};
