#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

/* The bytes of the bundled model; the caller frees them. */
static char* read_model(size_t* size) {
  FILE* file = fopen(model_path(), "rb");
  if (file == NULL) return NULL;
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char* bytes = malloc(*size);
  if (fread(bytes, 1, *size, file) != *size) *size = 0;
  fclose(file);
  return bytes;
}

static void facts_are_those_of_the_file(void) {
  weft_error* error = NULL;
  weft_model_info info = {.struct_size = sizeof info};
  if (!OK(weft_model_get_info(stories(), &info, &error))) return;
  CHECK(strcmp(info.architecture, "llama") == 0);
  CHECK(strcmp(info.path, model_path()) == 0);
  CHECK(strlen(info.name) > 0);
  CHECK(info.n_layers > 0 && info.n_embd > 0 && info.n_vocab > 0 && info.context > 0);
  CHECK(info.flags == (WEFT_MODEL_CAUSAL | WEFT_MODEL_HAS_OUTPUT | WEFT_MODEL_HAS_TOKENIZER));
  CHECK(info.token_types == 1 && info.n_loras == 0);
  CHECK(weft_model_check_files(stories(), NULL) == WEFT_SUCCESS);
  const char* template_text = "x";
  OK(weft_model_get_chat_template(stories(), &template_text, &error));
}

static int count_calls(void* user, double share) {
  (void)share;
  return ++*(int*)user > 1000;
}
static int stop_at_once(void* user, double share) {
  (void)user, (void)share;
  return 1;
}

static void loading_reports_its_progress_and_can_be_cancelled(void) {
  weft_error* error = NULL;
  weft_model* model = NULL;
  weft_model_options options;
  int calls = 0;
  weft_model_options_init(&options, sizeof options);
  options.progress = count_calls;
  options.progress_user = &calls;
  if (OK(weft_model_open(model_path(), &options, &model, &error))) weft_model_free(model);
  CHECK(calls >= 2);
  options.progress = stop_at_once;
  model = NULL;
  REFUSED(WEFT_ERROR_CANCELLED, "cancelled",
          weft_model_open(model_path(), &options, &model, &error));
  CHECK(model == NULL);
}

static void count_release(void* user) {
  ++*(int*)user;
}

static void bytes_in_memory_are_a_model(void) {
  weft_error* error = NULL;
  weft_model* model = NULL;
  weft_session* session = NULL;
  size_t size = 0;
  int released = 0;
  char* bytes = read_model(&size);
  if (OK(weft_model_open_memory(bytes, size, "lent", count_release, &released, NULL, &model,
                                &error))) {
    weft_session_options options;
    weft_session_options_init(&options, sizeof options);
    options.context = 64;
    OK(weft_session_open(model, &options, &session, &error));
    weft_model_free(model);
    CHECK(released == 0);
    const weft_token one = 1;
    OK(weft_session_feed(session, 0, &one, 1, NULL, NULL, &error));
    weft_session_free(session);
    CHECK(released == 1);
  }
  model = NULL;
  REFUSED(
      WEFT_ERROR_FORMAT, "broken",
      weft_model_open_memory(bytes, 100, "broken", count_release, &released, NULL, &model, &error));
  CHECK(released == 2);
  if (OK(weft_model_open_memory(bytes, size, NULL, NULL, NULL, NULL, &model, &error))) {
    memset(bytes, 0, size);
    weft_model_info info = {.struct_size = sizeof info};
    OK(weft_model_get_info(model, &info, &error));
    CHECK(strcmp(info.path, "a model in memory") == 0);
    weft_model_free(model);
  }
  REFUSED(WEFT_ERROR_ARGUMENT, "no array",
          weft_model_open_memory(bytes, (size_t)1 << 63, "x", NULL, NULL, NULL, &model, &error));
  free(bytes);
}

static void descriptors_are_models(void) {
  weft_error* error = NULL;
  weft_model* model = NULL;
  const int file = open(model_path(), O_RDONLY);
  if (OK(weft_model_open_descriptor(file, "a descriptor", NULL, &model, &error))) {
    close(file);
    OK(weft_model_check_files(model, &error));
    weft_model_free(model);
  }
  REFUSED(WEFT_ERROR_IO, "Bad file descriptor",
          weft_model_open_descriptor(-1, NULL, NULL, &model, &error));
}

static void vocabularies_alone_can_be_opened(void) {
  weft_error* error = NULL;
  weft_model* model = NULL;
  weft_session* session = NULL;
  weft_model_options options;
  weft_model_options_init(&options, sizeof options);
  options.vocabulary_only = 1;
  if (!OK(weft_model_open(model_path(), &options, &model, &error))) return;
  weft_model_info info = {.struct_size = sizeof info};
  OK(weft_model_get_info(model, &info, &error));
  CHECK(info.flags == (WEFT_MODEL_HAS_TOKENIZER | WEFT_MODEL_VOCABULARY_ONLY));
  REFUSED(WEFT_ERROR_UNSUPPORTED, "only the vocabulary",
          weft_session_open(model, NULL, &session, &error));
  weft_model_free(model);
}

static void values_replace_keys_of_the_file(void) {
  weft_error* error = NULL;
  weft_model* model = NULL;
  weft_model_options options;
  weft_model_options_init(&options, sizeof options);
  weft_value values[] = {
      {.name = "general.name", .kind = WEFT_VALUE_TEXT, .text = "a, b=int:1"},
      {.name = "llama.context_length", .kind = WEFT_VALUE_INTEGER, .integer = 77}};
  options.overrides = "llama.context_length=int:55,general.name=str:x";
  options.override_values = values;
  options.n_override_values = 2;
  if (OK(weft_model_open(model_path(), &options, &model, &error))) {
    weft_model_info info = {.struct_size = sizeof info};
    OK(weft_model_get_info(model, &info, &error));
    CHECK(strcmp(info.name, "a, b=int:1") == 0 && info.context == 77);
    weft_model_free(model);
  }
  values[1].kind = 9;
  REFUSED(WEFT_ERROR_ARGUMENT, "'llama.context_length': the kind",
          weft_model_open(model_path(), &options, &model, &error));
  values[1] =
      (weft_value){.name = "llama.rope.freq_base", .kind = WEFT_VALUE_NUMBER, .number = NAN};
  REFUSED(WEFT_ERROR_ARGUMENT, "finite", weft_model_open(model_path(), &options, &model, &error));
  values[1].reserved = 1;
  REFUSED(WEFT_ERROR_UNSUPPORTED, "weft_value: reserved must be 0, got 1",
          weft_model_open(model_path(), &options, &model, &error));
  values[1] = (weft_value){.name = "split.count", .kind = WEFT_VALUE_BOOL};
  REFUSED(WEFT_ERROR_ARGUMENT, "'split.count' cannot be overridden",
          weft_model_open(model_path(), &options, &model, &error));
  values[1].name = NULL;
  REFUSED(WEFT_ERROR_ARGUMENT, "`name` is NULL",
          weft_model_open(model_path(), &options, &model, &error));
  options.override_values = NULL;
  REFUSED(WEFT_ERROR_ARGUMENT, "`override_values` is NULL",
          weft_model_open(model_path(), &options, &model, &error));
}

/* Weights of a file that was made, and of one that has them in other types. */
static void weights_are_read_as_numbers(void) {
  weft_error* error = NULL;
  weft_model* model = NULL;
  weft_tensor_info info = {.struct_size = sizeof info};
  float values[64];
  size_t n = 0;
  OK(weft_write_made_model("llama", NULL, 0, temporary("own.gguf"), &error));
  if (!OK(weft_model_open(temporary("own.gguf"), NULL, &model, &error))) return;
  const char* const norm = "blk.1.ffn_norm.weight";
  if (OK(weft_model_read_tensor(model, norm, &info, values, 64, &n, &error)))
    CHECK(n == 64 && info.rank == 1 && info.dims[0].bound == 64 && values[0] != 0);
  CHECK(strcmp(info.dtype, "F32") == 0 && strcmp(info.path, norm) == 0);
  CHECK(strcmp(info.kind, "weight") == 0 && strcmp(info.op, "") == 0);
  REFUSED(WEFT_ERROR_CAPACITY, "3200 values, and room for 64",
          weft_model_read_tensor(model, "token_embd.weight", &info, values, 64, &n, &error));
  CHECK(n == 3200 && info.rank == 2 && info.dims[0].bound == 50 && info.dims[1].bound == 64);
  REFUSED(WEFT_ERROR_ARGUMENT, "own.gguf: the file has no tensor 'nothing'",
          weft_model_read_tensor(model, "nothing", NULL, values, 64, &n, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`name` is NULL",
          weft_model_read_tensor(model, NULL, NULL, values, 64, &n, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`values` is NULL",
          weft_model_read_tensor(model, norm, NULL, NULL, 64, &n, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`n` is NULL",
          weft_model_read_tensor(model, norm, NULL, values, 64, NULL, &error));
  weft_model_free(model);
  REFUSED(WEFT_ERROR_HANDLE, "", weft_model_read_tensor(model, norm, NULL, values, 64, &n, &error));
  REFUSED(WEFT_ERROR_CAPACITY, "room for 0",
          weft_model_read_tensor(stories(), "token_embd.weight", &info, NULL, 0, &n, &error));
  float* all = malloc(n * sizeof *all);
  double largest = 0;
  OK(weft_model_read_tensor(stories(), "token_embd.weight", &info, all, n, &n, &error));
  for (size_t i = 0; i < n; ++i) largest = all[i] > largest ? all[i] : largest;
  CHECK(strcmp(info.dtype, "F32") != 0 && largest > 0 && largest < 100);
  free(all);
}

static void files_that_are_no_models_are_refused(void) {
  weft_error* error = NULL;
  weft_model* model = NULL;
  const weft_status status = weft_model_open("/no/such/file", NULL, &model, &error);
  CHECK(status == WEFT_ERROR_IO && weft_error_os_error(error) == 2);
  weft_error_free(error);
  REFUSED(WEFT_ERROR_IO, "directory", weft_model_open("/", NULL, &model, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`path` is NULL", weft_model_open(NULL, NULL, &model, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`model` is NULL",
          weft_model_open(model_path(), NULL, NULL, &error));
  REFUSED(WEFT_ERROR_IO, "", weft_model_open("\xff\xfe\x80", NULL, &model, &error));
  weft_model_options options;
  weft_model_options_init(&options, sizeof options);
  options.overrides = "llama.block_count=int:0";
  REFUSED(WEFT_ERROR_FORMAT, "llama.block_count",
          weft_model_open(model_path(), &options, &model, &error));
  options.overrides = "nonsense";
  REFUSED(WEFT_ERROR_ARGUMENT, "", weft_model_open(model_path(), &options, &model, &error));
  options.overrides = NULL;
  options.n_loras = 1;
  REFUSED(WEFT_ERROR_ARGUMENT, "`loras` is NULL",
          weft_model_open(model_path(), &options, &model, &error));
  options.n_loras = 0;
  options.quantize = "Q9_9";
  REFUSED(WEFT_ERROR_ARGUMENT, "Q9_9", weft_model_open(model_path(), &options, &model, &error));
}

const test_case model_tests[] = {
    {"facts are those of the file", facts_are_those_of_the_file},
    {"loading reports its progress and can be cancelled",
     loading_reports_its_progress_and_can_be_cancelled},
    {"bytes in memory are a model", bytes_in_memory_are_a_model},
    {"descriptors are models", descriptors_are_models},
    {"vocabularies alone can be opened", vocabularies_alone_can_be_opened},
    {"values replace keys of the file", values_replace_keys_of_the_file},
    {"weights are read as numbers", weights_are_read_as_numbers},
    {"files that are no models are refused", files_that_are_no_models_are_refused},
    {NULL, NULL}};
