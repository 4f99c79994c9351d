/* Files that are written: quantized, converted, made up. */
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "check.h"

static char output[256];

/* A path that no file has. */
static const char* fresh(const char* name) {
  snprintf(output, sizeof output, "%s", temporary(name));
  remove(output);
  return output;
}

/* Files of the temporary folder, with those whose names were not given yet. */
static int n_files(void) {
  int n = 0;
  DIR* all = opendir(temporary("."));
  while (all != NULL && readdir(all) != NULL) ++n;
  if (all != NULL) closedir(all);
  return n;
}

/* Whether both files have the same bytes. */
static int same_bytes(const char* a, const char* b) {
  FILE* files[] = {fopen(a, "rb"), fopen(b, "rb")};
  int same = files[0] != NULL && files[1] != NULL, c = 0;
  while (same && c != EOF) {
    c = fgetc(files[0]);
    same = c == fgetc(files[1]);
  }
  for (int i = 0; i < 2; ++i)
    if (files[i] != NULL) fclose(files[i]);
  return same;
}

/* Opens a model, feeds a token and gives the number of logits. */
static size_t logits_of(const char* path) {
  weft_error* error = NULL;
  weft_model* model = NULL;
  weft_session* session = NULL;
  weft_session_options options;
  const weft_token token = 1;
  float* logits = NULL;
  size_t n = 0;
  weft_session_options_init(&options, sizeof options);
  options.context = 32;
  if (OK(weft_model_open(path, NULL, &model, &error)) &&
      OK(weft_session_open(model, &options, &session, &error)) &&
      OK(weft_session_feed(session, 0, &token, 1, NULL, NULL, &error)))
    OK(weft_session_get_logits(session, &logits, &n, &error));
  weft_session_free(session);
  weft_model_free(model);
  return n;
}

static int count_calls(void* user, double share) {
  ++*(int*)user;
  return share < 0 || share > 1;
}
static int stop_at_once(void* user, double share) {
  (void)user, (void)share;
  return 1;
}

static weft_quantize_options to_type(const char* type) {
  weft_quantize_options options;
  CHECK(weft_quantize_options_init(&options, sizeof options) == WEFT_SUCCESS);
  options.type = type;
  options.allow_requantize = 1;
  return options;
}

static void models_are_quantized(void) {
  weft_error* error = NULL;
  weft_model* model = NULL;
  weft_quantize_options options = to_type("Q4_0");
  int calls = 0;
  options.progress = count_calls;
  options.progress_user = &calls;
  options.tensor_types = "attn_q=Q6_K\nblk\\.0\\.ffn_up=F16\n";
  options.output_type = "Q8_0";
  if (!OK(weft_quantize(model_path(), fresh("q4.gguf"), &options, &error))) return;
  CHECK(calls > 0);
  weft_text json = {NULL, 0};
  if (OK(weft_inspect_json(output, &json, &error))) {
    CHECK(strstr(json.data, "{\"name\": \"blk.1.attn_q.weight\", \"type\": \"Q6_K\"") != NULL);
    CHECK(strstr(json.data, "{\"name\": \"blk.0.ffn_up.weight\", \"type\": \"F16\"") != NULL);
    CHECK(strstr(json.data, "{\"name\": \"blk.1.ffn_up.weight\", \"type\": \"Q4_0\"") != NULL);
    weft_text_free(&json);
  }
  CHECK(logits_of(output) == 2048);
  weft_token ids[2][16];
  size_t n[2] = {0, 0};
  if (!OK(weft_model_open(output, NULL, &model, &error))) return;
  OK(weft_tokenize(model, "Once upon a time", 16, 0, ids[0], 16, &n[0], &error));
  OK(weft_tokenize(stories(), "Once upon a time", 16, 0, ids[1], 16, &n[1], &error));
  CHECK(n[0] > 0 && n[0] == n[1] && memcmp(ids[0], ids[1], n[0] * sizeof(weft_token)) == 0);
  weft_model_free(model);
}

static void a_cancelled_conversion_leaves_no_file(void) {
  weft_error* error = NULL;
  weft_quantize_options options = to_type("Q4_K_M");
  options.progress = stop_at_once;
  fresh("cancelled.gguf");
  const int before = n_files();
  REFUSED(WEFT_ERROR_CANCELLED, "cancelled", weft_quantize(model_path(), output, &options, &error));
  CHECK(n_files() == before);
}

/* Writes an importance matrix (the binary format) that has only one weight. */
static void write_imatrix(const char* path) {
  const char* name = "blk.0.attn_q.weight";
  const int32_t one = 1, n_name = (int32_t)strlen(name), cols = 256;
  FILE* file = fopen(path, "wb");
  fwrite(&one, 4, 1, file); /* entries */
  fwrite(&n_name, 4, 1, file);
  fwrite(name, 1, (size_t)n_name, file);
  fwrite(&one, 4, 1, file); /* calls */
  fwrite(&cols, 4, 1, file);
  for (int32_t i = 0; i < cols; ++i) fwrite(&(float){1}, 4, 1, file);
  fclose(file);
}
static void keep_line(void* user, const char* line) {
  snprintf((char*)user, 256, "%s", line);
}

static void warnings_of_quantization_are_logged(void) {
  weft_error* error = NULL;
  char imatrix[256], line[256] = "";
  snprintf(imatrix, sizeof imatrix, "%s", temporary("one.imatrix"));
  write_imatrix(imatrix);
  weft_quantize_options options = to_type("Q4_K_M");
  options.imatrix = imatrix;
  options.log = keep_line;
  options.log_user = line;
  OK(weft_quantize(model_path(), fresh("weighted.gguf"), &options, &error));
  CHECK(strstr(line, "one.imatrix: no importances for 27 of 28 tensors") != NULL);
}

static void options_of_quantization_are_checked(void) {
  weft_error* error = NULL;
  weft_quantize_options options = to_type(NULL);
  const char* path = fresh("refused.gguf");
  const int before = n_files();
  REFUSED(WEFT_ERROR_ARGUMENT, "`type` is NULL",
          weft_quantize(model_path(), path, &options, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`type` is NULL", weft_quantize(model_path(), path, NULL, &error));
  options = to_type("Q9_9");
  REFUSED(WEFT_ERROR_ARGUMENT, "Q9_9", weft_quantize(model_path(), path, &options, &error));
  options = to_type("Q4_0");
  options.tensor_types = "ffn";
  REFUSED(WEFT_ERROR_ARGUMENT, "must be REGEX=TYPE, got 'ffn'",
          weft_quantize(model_path(), path, &options, &error));
  options.tensor_types = "(=Q4_0";
  REFUSED(WEFT_ERROR_ARGUMENT, "", weft_quantize(model_path(), path, &options, &error));
  options.tensor_types = "no_such_tensor=Q4_0";
  REFUSED(WEFT_ERROR_ARGUMENT, "no_such_tensor",
          weft_quantize(model_path(), path, &options, &error));
  options = to_type("Q4_0");
  options.workers = -1;
  REFUSED(WEFT_ERROR_ARGUMENT, "`workers`", weft_quantize(model_path(), path, &options, &error));
  options.workers = 1 << 30;
  REFUSED(WEFT_ERROR_ARGUMENT, "`workers`", weft_quantize(model_path(), path, &options, &error));
  options = to_type("Q4_0");
  options.imatrix = "/no/such/imatrix";
  REFUSED(WEFT_ERROR_IO, "/no/such/imatrix", weft_quantize(model_path(), path, &options, &error));
  options.imatrix = model_path();
  REFUSED(WEFT_ERROR_FORMAT, "not an importance matrix",
          weft_quantize(model_path(), path, &options, &error));
  options.imatrix = NULL;
  options.allow_requantize = 0;
  REFUSED(WEFT_ERROR_UNSUPPORTED, "already Q8_0",
          weft_quantize(model_path(), path, &options, &error));
  CHECK(weft_quantize_options_init(NULL, sizeof options) == WEFT_ERROR_ARGUMENT);
  CHECK(weft_quantize_options_init(&options, 1) == WEFT_ERROR_ARGUMENT);
  CHECK(n_files() == before);
}

static void paths_of_quantization_are_checked(void) {
  weft_error* error = NULL;
  const weft_quantize_options options = to_type("Q4_0");
  const char* path = fresh("refused.gguf");
  const int before = n_files();
  REFUSED(WEFT_ERROR_ARGUMENT, "`input` is NULL", weft_quantize(NULL, path, &options, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`output` is NULL",
          weft_quantize(model_path(), NULL, &options, &error));
  REFUSED(WEFT_ERROR_IO, "/no/such", weft_quantize("/no/such", path, &options, &error));
  REFUSED(WEFT_ERROR_IO, "/", weft_quantize("/", path, &options, &error));
  REFUSED(WEFT_ERROR_IO, "/no/such/folder/x",
          weft_quantize(model_path(), "/no/such/folder/x", &options, &error));
  REFUSED(WEFT_ERROR_IO, "", weft_quantize(model_path(), "", &options, &error));
  REFUSED(WEFT_ERROR_IO, "", weft_quantize(model_path(), temporary("."), &options, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, model_path(),
          weft_quantize(model_path(), model_path(), &options, &error));
  CHECK(n_files() == before);
}

static void made_models_are_always_the_same(void) {
  weft_error* error = NULL;
  char first[256];
  const weft_value keys[] = {
      {.name = "qwen3.block_count", .kind = WEFT_VALUE_INTEGER, .integer = 1},
      {.name = "general.name", .kind = WEFT_VALUE_TEXT, .text = "tiny"},
      {.name = "qwen3.rope.freq_base", .kind = WEFT_VALUE_NUMBER, .number = 1e6},
      {.name = "some.flag", .kind = WEFT_VALUE_BOOL, .integer = 1}};
  snprintf(first, sizeof first, "%s", fresh("made1.gguf"));
  if (!OK(weft_write_made_model("qwen3", keys, 4, first, &error))) return;
  OK(weft_write_made_model("qwen3", keys, 4, fresh("made2.gguf"), &error));
  CHECK(same_bytes(first, output));
  CHECK(logits_of(first) > 0);
  weft_model* model = NULL;
  weft_text json = {NULL, 0};
  if (OK(weft_model_open(first, NULL, &model, &error)) &&
      OK(weft_model_metadata_json(model, 10, &json, &error))) {
    CHECK(strstr(json.data, "\"general.name\": \"tiny\"") != NULL);
    CHECK(strstr(json.data, "\"qwen3.block_count\": 1") != NULL);
    CHECK(strstr(json.data, "\"some.flag\": true") != NULL);
    weft_text_free(&json);
  }
  weft_model_free(model);
}

static void made_models_are_refused(void) {
  weft_error* error = NULL;
  const char* path = fresh("refused.gguf");
  const int before = n_files();
  REFUSED(WEFT_ERROR_UNSUPPORTED, "lama3", weft_write_made_model("lama3", NULL, 0, path, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`architecture` is NULL",
          weft_write_made_model(NULL, NULL, 0, path, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`path` is NULL",
          weft_write_made_model("llama", NULL, 0, NULL, &error));
  REFUSED(WEFT_ERROR_IO, "/no/such/folder/x",
          weft_write_made_model("llama", NULL, 0, "/no/such/folder/x", &error));
  weft_value key = {.kind = WEFT_VALUE_INTEGER};
  REFUSED(WEFT_ERROR_ARGUMENT, "`name` is NULL",
          weft_write_made_model("llama", &key, 1, path, &error));
  key.name = "";
  REFUSED(WEFT_ERROR_ARGUMENT, "is empty", weft_write_made_model("llama", &key, 1, path, &error));
  key.name = "llama.block_count";
  key.integer = INT64_MAX;
  REFUSED(WEFT_ERROR_FORMAT, "llama.block_count",
          weft_write_made_model("llama", &key, 1, path, &error));
  key.kind = 5;
  REFUSED(WEFT_ERROR_ARGUMENT, "the kind must be 1 to 4",
          weft_write_made_model("llama", &key, 1, path, &error));
  key.kind = WEFT_VALUE_TEXT;
  REFUSED(WEFT_ERROR_ARGUMENT, "`text` is NULL",
          weft_write_made_model("llama", &key, 1, path, &error));
  key.text = "two";
  CHECK(weft_write_made_model("llama", &key, 1, path, NULL) != WEFT_SUCCESS);
  CHECK(n_files() == before);
}

/* With zeros behind the text, a file of safetensors. */
static void write_file(const char* folder, const char* name, const char* text, size_t n_zeros) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE* file = fopen(path, "wb");
  if (n_zeros > 0) {
    unsigned char length[8] = {0};
    for (int i = 0; i < 4; ++i) length[i] = (unsigned char)(strlen(text) >> (8 * i));
    fwrite(length, 1, 8, file);
  }
  fputs(text, file);
  for (size_t i = 0; i < n_zeros; ++i) fputc(0, file);
  fclose(file);
}

static void write_weights(const char* folder) {
  static const struct {
    const char* name;
    int rows, columns; /* 0 columns: a vector */
  } tensors[] = {{"model.embed_tokens", 4, 32},
                 {"model.norm", 32, 0},
                 {"model.layers.0.input_layernorm", 32, 0},
                 {"model.layers.0.post_attention_layernorm", 32, 0},
                 {"model.layers.0.self_attn.q_proj", 32, 32},
                 {"model.layers.0.self_attn.k_proj", 32, 32},
                 {"model.layers.0.self_attn.v_proj", 32, 32},
                 {"model.layers.0.self_attn.o_proj", 32, 32},
                 {"model.layers.0.mlp.gate_proj", 8, 32},
                 {"model.layers.0.mlp.up_proj", 8, 32},
                 {"model.layers.0.mlp.down_proj", 32, 8}};
  char header[4096] = "{";
  size_t at = 0, used = 1;
  for (size_t i = 0; i < sizeof tensors / sizeof *tensors; ++i) {
    const int columns = tensors[i].columns;
    const size_t end = at + 2u * (size_t)(tensors[i].rows * (columns > 0 ? columns : 1));
    char shape[32];
    snprintf(shape, sizeof shape, columns > 0 ? "%d, %d" : "%d", tensors[i].rows, columns);
    used += (size_t)snprintf(header + used, sizeof header - used,
                             "%s\"%s.weight\": {\"dtype\": \"BF16\", \"shape\": [%s], "
                             "\"data_offsets\": [%zu, %zu]}",
                             i > 0 ? ", " : "", tensors[i].name, shape, at, end);
    at = end;
  }
  snprintf(header + used, sizeof header - used, "}");
  write_file(folder, "model.safetensors", header, at);
}

/* A folder as on Hugging Face: a model of one layer, with zeros for weights. */
static void write_folder(const char* folder) {
  mkdir(folder, 0700);
  write_weights(folder);
  write_file(folder, "config.json",
             "{\"model_type\": \"llama\", \"vocab_size\": 4, \"max_position_embeddings\": 64, "
             "\"hidden_size\": 32, \"num_hidden_layers\": 1, \"intermediate_size\": 8, "
             "\"num_attention_heads\": 2, \"tie_word_embeddings\": true}",
             0);
  write_file(folder, "tokenizer.json",
             "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, "
             "\"merges\": [\"a b\"]}, \"pre_tokenizer\": {\"type\": \"ByteLevel\", "
             "\"add_prefix_space\": false}, \"added_tokens\": [{\"id\": 3, \"content\": \"<e>\", "
             "\"special\": true}]}",
             0);
  write_file(folder, "tokenizer_config.json", "{\"eos_token\": \"<e>\"}", 0);
}

static void folders_are_converted(void) {
  weft_error* error = NULL;
  weft_text json = {NULL, 0};
  char folder[256];
  int calls = 0;
  snprintf(folder, sizeof folder, "%s", temporary("hugging-face"));
  write_folder(folder);
  if (!OK(weft_convert(folder, fresh("converted.gguf"), "F16", count_calls, &calls, &error)))
    return;
  CHECK(calls > 0);
  CHECK(logits_of(output) == 4);
  if (OK(weft_inspect_json(output, &json, &error))) {
    CHECK(strstr(json.data, "\"token_embd.weight\", \"type\": \"F16\"") != NULL);
    weft_text_free(&json);
  }
  OK(weft_convert(folder, fresh("unchanged.gguf"), NULL, NULL, NULL, &error));
  if (OK(weft_inspect_json(output, &json, &error))) {
    CHECK(strstr(json.data, "\"token_embd.weight\", \"type\": \"BF16\"") != NULL);
    weft_text_free(&json);
  }
  const char* path = fresh("refused.gguf");
  const int before = n_files();
  REFUSED(WEFT_ERROR_CANCELLED, "", weft_convert(folder, path, NULL, stop_at_once, NULL, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "F32, F16 or BF16, got 'Q4_0'",
          weft_convert(folder, path, "Q4_0", NULL, NULL, &error));
  REFUSED(WEFT_ERROR_IO, "", weft_convert(folder, "/no/such/x", NULL, NULL, NULL, &error));
  CHECK(n_files() == before);
}

static void what_is_no_folder_of_a_model_is_not_converted(void) {
  weft_error* error = NULL;
  const char* path = fresh("refused.gguf");
  REFUSED(WEFT_ERROR_ARGUMENT, "expected a directory",
          weft_convert(model_path(), path, NULL, NULL, NULL, &error));
  REFUSED(WEFT_ERROR_IO, "/", weft_convert("/", path, NULL, NULL, NULL, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`folder` is NULL",
          weft_convert(NULL, path, NULL, NULL, NULL, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`output` is NULL",
          weft_convert("/", NULL, NULL, NULL, NULL, &error));
}

const test_case conversions_tests[] = {
    {"models are quantized", models_are_quantized},
    {"a cancelled conversion leaves no file", a_cancelled_conversion_leaves_no_file},
    {"warnings of quantization are logged", warnings_of_quantization_are_logged},
    {"options of quantization are checked", options_of_quantization_are_checked},
    {"paths of quantization are checked", paths_of_quantization_are_checked},
    {"made models are always the same", made_models_are_always_the_same},
    {"made models are refused", made_models_are_refused},
    {"folders are converted", folders_are_converted},
    {"what is no folder of a model is not converted",
     what_is_no_folder_of_a_model_is_not_converted},
    {NULL, NULL}};
