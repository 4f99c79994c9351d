/* c_api_test [GROUP...]: runs the tests of the groups, or all. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

extern const test_case architecture_tests[], base_tests[], chat_tests[], conversation_tests[],
    conversions_tests[], embedder_tests[], generation_tests[], grammar_tests[], graph_tests[],
    logprobs_tests[], misuse_tests[], model_tests[], sampler_tests[], saved_tests[],
    session_tests[], token_tests[], tools_tests[];

/* The groups are the files X_test.c. */
static const struct {
  const char* name;
  const test_case* tests;
} groups[] = {{"architecture", architecture_tests},
              {"base", base_tests},
              {"chat", chat_tests},
              {"conversation", conversation_tests},
              {"conversions", conversions_tests},
              {"embedder", embedder_tests},
              {"generation", generation_tests},
              {"grammar", grammar_tests},
              {"graph", graph_tests},
              {"logprobs", logprobs_tests},
              {"misuse", misuse_tests},
              {"model", model_tests},
              {"sampler", sampler_tests},
              {"saved", saved_tests},
              {"session", session_tests},
              {"token", token_tests},
              {"tools", tools_tests}};

weft_status check_status;
static int failures;
static const char* current;
static char folder[] = "/tmp/weft-c-XXXXXX";
static weft_model* bundled;

void check_failed(const char* file, int line, const char* what) {
  ++failures;
  fprintf(stderr, "%s:%d: %s: failed: %s\n", file, line, current, what);
}

int check_success(weft_status status, weft_error* error, const char* file, int line,
                  const char* what) {
  if (status == WEFT_SUCCESS) return 1;
  check_failed(file, line, what);
  fprintf(stderr, "  %s: %s\n", weft_status_name(status), weft_error_message(error));
  return 0;
}

void check_refused(weft_status got, weft_error* error, weft_status wanted, const char* message,
                   const char* file, int line, const char* what) {
  if (got != wanted || strstr(weft_error_message(error), message) == NULL ||
      weft_error_status(error) != got) {
    check_failed(file, line, what);
    fprintf(stderr, "  got %s \"%s\", expected %s \"%s\"\n", weft_status_name(got),
            weft_error_message(error), weft_status_name(wanted), message);
  }
  weft_error_free(error);
}

const char* model_path(void) {
  const char* given = getenv("WEFT_TEST_MODEL");
  return given != NULL ? given : WEFT_TEST_MODEL;
}

const char* temporary(const char* name) {
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

weft_model* stories(void) {
  weft_error* error = NULL;
  if (bundled == NULL) OK(weft_model_open(model_path(), NULL, &bundled, &error));
  return bundled;
}

weft_session* new_session(int sequences) {
  weft_error* error = NULL;
  weft_session* session = NULL;
  weft_session_options options;
  weft_session_options_init(&options, sizeof options);
  options.context = 256;
  options.sequences = sequences;
  OK(weft_session_open(stories(), &options, &session, &error));
  return session;
}

static int wanted(const char* name, int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (strcmp(argv[i], name) == 0) return 1;
  return argc < 2;
}

int main(int argc, char** argv) {
  int n = 0;
  if (mkdtemp(folder) == NULL) return 2;
  for (size_t g = 0; g < sizeof groups / sizeof *groups; ++g) {
    if (!wanted(groups[g].name, argc, argv)) continue;
    for (const test_case* t = groups[g].tests; t->name != NULL; ++t, ++n) {
      current = t->name;
      t->run();
    }
  }
  weft_model_free(bundled);
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", folder);
  if (system(command) != 0) return 2;
  printf("%d tests, %d failures\n", n, failures);
  return failures != 0 || n == 0;
}
