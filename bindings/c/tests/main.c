/* c_api_test [GROUP...]: runs the tests of the groups, or all. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

extern const test_case architecture_tests[], base_tests[], builder_tests[], chat_tests[],
    context_end_tests[], conversation_tests[], conversions_tests[], diffusion_tests[],
    embedder_tests[], generation_tests[], grammar_tests[], graph_tests[], interrupt_tests[],
    logprobs_tests[], misuse_tests[], model_tests[], one_call_tests[], pictures_tests[],
    reply_tests[], sampler_tests[], saved_tests[], session_tests[], speculation_tests[],
    token_tests[], tools_tests[];

/* The groups are the files X_test.c. */
static const struct {
  const char* name;
  const test_case* tests;
} groups[] = {{"architecture", architecture_tests},
              {"base", base_tests},
              {"builder", builder_tests},
              {"chat", chat_tests},
              {"context_end", context_end_tests},
              {"conversation", conversation_tests},
              {"conversions", conversions_tests},
              {"diffusion", diffusion_tests},
              {"embedder", embedder_tests},
              {"generation", generation_tests},
              {"grammar", grammar_tests},
              {"graph", graph_tests},
              {"interrupt", interrupt_tests},
              {"logprobs", logprobs_tests},
              {"misuse", misuse_tests},
              {"model", model_tests},
              {"one_call", one_call_tests},
              {"pictures", pictures_tests},
              {"reply", reply_tests},
              {"sampler", sampler_tests},
              {"saved", saved_tests},
              {"session", session_tests},
              {"speculation", speculation_tests},
              {"token", token_tests},
              {"tools", tools_tests}};

static char folder[] = "/tmp/weft-c-XXXXXX";
static weft_model* bundled;

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

weft_generation* greedy(weft_session* session, int sequence, weft_generation_options* options) {
  weft_error* error = NULL;
  weft_generation* generation = NULL;
  weft_generation_options defaults;
  weft_sampler_options sampler;
  weft_sampler_options_init(&sampler, sizeof sampler);
  sampler.temperature = 0;
  if (options == NULL) {
    weft_generation_options_init(&defaults, sizeof defaults);
    options = &defaults;
  }
  options->sampler = &sampler;
  OK(weft_generation_open(session, sequence, options, &generation, &error));
  return generation;
}

weft_generation* text_with_guesses(weft_session* session, weft_speculation* speculation,
                                   weft_generation_info* info) {
  static const char story[] = "Once upon a time there was a fox named Pip. Once upon a time";
  weft_error* error = NULL;
  weft_generation_event event = {.struct_size = sizeof event};
  weft_generation_options options;
  weft_generation_options_init(&options, sizeof options);
  options.speculation = speculation;
  weft_generation* generation = greedy(session, 0, &options);
  OK(weft_generation_begin_text(generation, story, strlen(story), &error));
  do {
    OK(weft_generation_next(generation, &event, &error));
    OK(weft_generation_get_info(generation, info, &error));
  } while (speculation && info->n_guessed == 0 && info->n_new < 20);
  CHECK((info->n_guessed > 0) == (speculation != NULL));
  return generation;
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
      check_context = t->name;
      t->run();
    }
  }
  weft_model_free(bundled);
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", folder);
  if (system(command) != 0) return 2;
  printf("%d tests, %d failures\n", n, check_failures);
  return check_failures != 0 || n == 0;
}
