/* A program of version 1.0 of the API, built with the stored header of that version. It stays as it
 * is: what it does must work with every library of version 1. */
#include <stdio.h>
#include <string.h>

#include "weft/weft.h"

static int fail(const char* what, weft_error* error) {
  fprintf(stderr, "%s: %s\n", what, weft_error_message(error));
  return 1;
}

int main(int argc, char** argv) {
  weft_error* error = NULL;
  weft_model* model = NULL;
  weft_session* session = NULL;
  weft_generation* generation = NULL;
  weft_session_options options;
  weft_sampler_options sampler;
  weft_generation_options how;
  weft_generation_event event = {.struct_size = sizeof event};
  weft_model_info info = {.struct_size = sizeof info};
  if (argc != 2 || weft_api_version() < 1000 || weft_api_version() >= 2000) return 2;
  if (weft_model_open(argv[1], NULL, &model, &error)) return fail("model", error);
  if (weft_model_get_info(model, &info, &error)) return fail("info", error);
  if (info.n_vocab < 1 || strcmp(info.architecture, "llama") != 0) return 3;
  weft_session_options_init(&options, sizeof options);
  options.context = 64;
  if (weft_session_open(model, &options, &session, &error)) return fail("session", error);
  weft_sampler_options_init(&sampler, sizeof sampler);
  sampler.temperature = 0;
  weft_generation_options_init(&how, sizeof how);
  how.sampler = &sampler;
  how.max_tokens = 5;
  if (weft_generation_open(session, 0, &how, &generation, &error)) return fail("text", error);
  if (weft_generation_begin_text(generation, "Once", 4, &error)) return fail("prompt", error);
  int n = 0;
  while (event.stop == WEFT_STOP_NONE) {
    if (weft_generation_next(generation, &event, &error)) return fail("token", error);
    n += event.token >= 0;
  }
  weft_generation_free(generation);
  weft_session_free(session);
  weft_model_free(model);
  return n == 5 && event.stop == WEFT_STOP_MAX_TOKENS ? 0 : 4;
}
