/* c_api_bench text MODEL N    N tokens after a short prompt; prints tokens per second
 * c_api_bench steps MODEL N   the same by steps and argmax
 * c_api_bench start LIBRARY   loads the library; prints milliseconds until its first call returned
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "weft/weft.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static weft_session* session_of(const char* path) {
  weft_error* error = NULL;
  weft_model* model = NULL;
  weft_session* session = NULL;
  if (weft_model_open(path, NULL, &model, &error) ||
      weft_session_open(model, NULL, &session, &error)) {
    fprintf(stderr, "c_api_bench: %s\n", weft_error_message(error));
    exit(1);
  }
  return session;
}

static void text(const char* path, int n) {
  weft_session* session = session_of(path);
  weft_sampler_options sampler;
  weft_generation_options options;
  weft_generation* generation = NULL;
  weft_generation_event event = {.struct_size = sizeof event};
  weft_sampler_options_init(&sampler, sizeof sampler);
  sampler.temperature = 0;
  weft_generation_options_init(&options, sizeof options);
  options.sampler = &sampler;
  options.ignore_eos = 1;
  if (weft_generation_open(session, 0, &options, &generation, NULL) ||
      weft_generation_begin_text(generation, "Once upon a time", 16, NULL) ||
      weft_generation_next(generation, &event, NULL))
    exit(1);
  const double begin = now();
  for (int i = 1; i < n; ++i)
    if (weft_generation_next(generation, &event, NULL)) exit(1);
  printf("%.2f\n", (n - 1) / (now() - begin));
}

static void steps(const char* path, int n) {
  weft_session* session = session_of(path);
  weft_token token = 1;
  float* logits = NULL;
  size_t v = 0;
  if (weft_session_feed(session, 0, &token, 1, NULL, NULL, NULL)) exit(1);
  const double begin = now();
  for (int i = 0; i < n; ++i) {
    if (weft_session_get_logits(session, &logits, &v, NULL)) exit(1);
    size_t best = 0;
    for (size_t j = 1; j < v; ++j)
      if (logits[j] > logits[best]) best = j;
    token = (weft_token)best;
    if (weft_session_feed(session, 0, &token, 1, NULL, NULL, NULL)) exit(1);
  }
  printf("%.2f\n", n / (now() - begin));
}

int main(int argc, char** argv) {
  if (argc == 4 && strcmp(argv[1], "text") == 0) return text(argv[2], atoi(argv[3])), 0;
  if (argc == 4 && strcmp(argv[1], "steps") == 0) return steps(argv[2], atoi(argv[3])), 0;
  fputs("usage: c_api_bench text|steps MODEL N\n", stderr);
  return 2;
}
