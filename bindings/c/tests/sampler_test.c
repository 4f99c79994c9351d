#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { kN = 50 };

/* Logits without ties; the largest is that of token 17. */
static const float* made_logits(void) {
  static float logits[kN];
  for (int i = 0; i < kN; ++i) logits[i] = (float)((i * 29 + 7) % kN) / 10.0F;
  logits[17] = 6;
  return logits;
}

static weft_sampler* open_sampler(const weft_sampler_options* options) {
  weft_error* error = NULL;
  weft_sampler* sampler = NULL;
  OK(weft_sampler_open(options, &sampler, &error));
  return sampler;
}

static weft_token sample(weft_sampler* sampler) {
  weft_error* error = NULL;
  weft_token token = -1;
  OK(weft_sampler_sample(sampler, made_logits(), kN, &token, &error));
  return token;
}

static void temperature_zero_gives_the_most_likely_token(void) {
  weft_error* error = NULL;
  weft_sampler_options options;
  CHECK(weft_sampler_options_init(&options, sizeof options) == WEFT_SUCCESS);
  CHECK(options.top_k == 40 && options.repeat_penalty == 1);
  options.temperature = 0;
  weft_sampler* sampler = open_sampler(&options);
  for (int i = 0; i < 3; ++i) CHECK(sample(sampler) == 17);
  const weft_candidate* kept = NULL;
  size_t n = 0;
  OK(weft_sampler_get_candidates(sampler, &kept, &n, &error));
  CHECK(n == 1 && kept[0].token == 17 && kept[0].logit == 6 && kept[0].probability == 1);
  weft_sampler_free(sampler);
  const weft_logit_bias never = {17, -INFINITY};
  options.logit_bias = &never;
  options.n_logit_bias = 1;
  sampler = open_sampler(&options);
  CHECK(sample(sampler) != 17);
  CHECK(weft_sampler_free(sampler) == WEFT_SUCCESS);
}

static void seeds_repeat_and_copies_draw_the_same(void) {
  weft_error* error = NULL;
  weft_sampler_options options;
  weft_sampler_options_init(&options, sizeof options);
  options.temperature = 2;
  options.seed = 42;
  options.min_p = 0;
  options.repeat_penalty = 1.5F;
  weft_sampler* sampler = open_sampler(&options);
  weft_token first[20];
  for (int i = 0; i < 20; ++i) {
    first[i] = sample(sampler);
    OK(weft_sampler_accept(sampler, first[i], &error));
  }
  weft_sampler* copy = NULL;
  OK(weft_sampler_copy(sampler, &copy, &error));
  for (int i = 0; i < 20; ++i) CHECK(sample(sampler) == sample(copy));
  OK(weft_sampler_reset(copy, &error));
  for (int i = 0; i < 20; ++i) {
    CHECK(sample(copy) == first[i]);
    OK(weft_sampler_accept(copy, first[i], &error));
  }
  weft_token second[20];
  int differ = 0;
  OK(weft_sampler_reseed(copy, 43, &error));
  for (int i = 0; i < 20; ++i) second[i] = sample(copy);
  OK(weft_sampler_reseed(sampler, 42, &error));
  for (int i = 0; i < 20; ++i) differ += sample(sampler) != second[i];
  CHECK(differ > 0);
  weft_sampler_free(copy);
  weft_sampler_free(sampler);
}

static void candidates_are_what_the_stages_kept(void) {
  weft_error* error = NULL;
  weft_sampler_options options;
  weft_sampler_options_init(&options, sizeof options);
  options.top_k = 5;
  options.order = "top-k;temperature"; /* the names of others are known, too */
  options.temperature = 1;
  weft_sampler* sampler = open_sampler(&options);
  const weft_candidate* kept = NULL;
  size_t n = 7;
  OK(weft_sampler_get_candidates(sampler, &kept, &n, &error));
  CHECK(n == 0); /* nothing was sampled */
  sample(sampler);
  OK(weft_sampler_get_candidates(sampler, &kept, &n, &error));
  float sum = 0;
  for (size_t i = 0; i < n; ++i) {
    CHECK(kept[i].logit == made_logits()[kept[i].token]);
    sum += kept[i].probability;
  }
  CHECK(n == 5 && kept[0].token == 17 && fabsf(sum - 1) < 1e-5F);
  const float wrong[] = {0, NAN};
  weft_token token = -7;
  REFUSED(WEFT_ERROR_ARGUMENT, "the logit of token 1",
          weft_sampler_sample(sampler, wrong, 2, &token, &error));
  OK(weft_sampler_get_candidates(sampler, &kept, &n, &error));
  CHECK(n == 0 && token == -7);
  weft_sampler_free(sampler);
}

static void logprobs_are_those_of_a_softmax(void) {
  weft_error* error = NULL;
  const float logits[] = {logf(0.125F), logf(0.5F), logf(0.25F), logf(0.125F)};
  weft_logprob top[4];
  float one = 1;
  OK(weft_top_logprobs(logits, 4, top, 4, &error));
  CHECK(top[0].token == 1 && fabsf(top[0].logprob - logf(0.5F)) < 1e-6F);
  CHECK(top[1].token == 2 && top[2].token == 0 && top[3].token == 3);
  OK(weft_logprob_of(logits, 4, 2, &one, &error));
  CHECK(fabsf(one - logf(0.25F)) < 1e-6F && one == top[1].logprob);
  OK(weft_top_logprobs(logits, 4, NULL, 0, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`n_top`", weft_top_logprobs(logits, 3, top, 4, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`n`", weft_top_logprobs(logits, 0, top, 0, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "no array has",
          weft_top_logprobs(logits, (size_t)1 << 63, top, 4, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "no array has",
          weft_top_logprobs(logits, 4, top, (size_t)1 << 63, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`n`", weft_logprob_of(logits, (size_t)1 << 40, 0, &one, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`token`", weft_logprob_of(logits, 4, 4, &one, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`token`", weft_logprob_of(logits, 4, -1, &one, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`logprob` is NULL", weft_logprob_of(logits, 4, 0, NULL, &error));
  const float wrong[] = {0, INFINITY, NAN}, none[] = {-INFINITY, -INFINITY};
  REFUSED(WEFT_ERROR_ARGUMENT, "token 1", weft_top_logprobs(wrong, 3, top, 1, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "all 2 logits", weft_logprob_of(none, 2, 0, &one, &error));
}

static void options_of_samplers_are_checked(void) {
  weft_error* error = NULL;
  weft_sampler* sampler = NULL;
  weft_sampler_options options;
  weft_sampler_options_init(&options, sizeof options);
  options.temperature = NAN;
  REFUSED(WEFT_ERROR_ARGUMENT, "temperature must be",
          weft_sampler_open(&options, &sampler, &error));
  options.temperature = 1;
  options.mirostat = 3;
  REFUSED(WEFT_ERROR_ARGUMENT, "mirostat must be", weft_sampler_open(&options, &sampler, &error));
  options.mirostat = 0;
  options.order = "top_k;what";
  REFUSED(WEFT_ERROR_UNSUPPORTED, "unknown sampler 'what'",
          weft_sampler_open(&options, &sampler, &error));
  options.order = NULL;
  const weft_logit_bias wrong = {-1, 1};
  options.n_logit_bias = 1;
  REFUSED(WEFT_ERROR_ARGUMENT, "`logit_bias` is NULL",
          weft_sampler_open(&options, &sampler, &error));
  options.logit_bias = &wrong;
  REFUSED(WEFT_ERROR_ARGUMENT, "-1", weft_sampler_open(&options, &sampler, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`sampler` is NULL", weft_sampler_open(NULL, NULL, &error));
  CHECK(sampler == NULL);
}

static void arguments_of_samplers_are_checked(void) {
  weft_error* error = NULL;
  weft_sampler* sampler = open_sampler(NULL);
  weft_token token = -1;
  const float none[] = {-INFINITY};
  REFUSED(WEFT_ERROR_ARGUMENT, "all 1 logits",
          weft_sampler_sample(sampler, none, 1, &token, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`logits` is NULL",
          weft_sampler_sample(sampler, NULL, 1, &token, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`n`", weft_sampler_sample(sampler, none, 0, &token, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "no array has",
          weft_sampler_sample(sampler, none, (size_t)1 << 63, &token, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`token` is NULL",
          weft_sampler_sample(sampler, made_logits(), kN, NULL, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "-1 is not a token", weft_sampler_accept(sampler, -1, &error));
  OK(weft_sampler_accept(sampler, INT32_MAX, &error));
  weft_sampler_free(sampler);
  REFUSED(WEFT_ERROR_HANDLE, "the sampler was freed", weft_sampler_reset(sampler, &error));
  REFUSED(WEFT_ERROR_HANDLE, "a model was given, expected a sampler",
          weft_sampler_copy((weft_sampler*)stories(), &sampler, &error));
}

static void samplers_work_in_the_child_of_a_fork(void) {
  weft_sampler* sampler = open_sampler(NULL);
  const pid_t child = fork();
  if (child == 0) {
    weft_token token = -1;
    _exit(weft_sampler_sample(sampler, made_logits(), kN, &token, NULL) == WEFT_SUCCESS ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  weft_sampler_free(sampler);
}

const test_case sampler_tests[] = {
    {"temperature 0 gives the most likely token", temperature_zero_gives_the_most_likely_token},
    {"seeds repeat, and copies draw the same", seeds_repeat_and_copies_draw_the_same},
    {"candidates are what the stages kept", candidates_are_what_the_stages_kept},
    {"logprobs are those of a softmax", logprobs_are_those_of_a_softmax},
    {"options of samplers are checked", options_of_samplers_are_checked},
    {"arguments of samplers are checked", arguments_of_samplers_are_checked},
    {"samplers work in the child of a fork", samplers_work_in_the_child_of_a_fork},
    {NULL, NULL}};
