/* Forks, for c_api_life. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "life.h"

/* Waits for a child. */
static int succeeds(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  if (status != 0) fprintf(stderr, "the child ended with status %#x\n", (unsigned)status);
  return status == 0;
}

void fork_in_peace(void) {
  weft_error* error = NULL;
  weft_model* model = open_model();
  weft_session* session = open_session(model);
  const weft_token expected = answer(session);
  const pid_t child = fork();
  if (child == 0) {
    weft_token tokens[16];
    size_t n = 0;
    int64_t length = 0;
    alarm(60); /* a child never hangs */
    OK(weft_tokenize(model, "Once upon", 9, 0, tokens, 16, &n, &error));
    REFUSED(WEFT_ERROR_FORKED, "belongs to the parent",
            weft_session_get_length(session, 0, &length, &error));
    weft_session* own = open_session(model);
    CHECK(answer(own) == expected);
    CHECK(weft_session_free(own) == WEFT_SUCCESS);
    CHECK(weft_session_free(session) == WEFT_SUCCESS);
    CHECK(weft_model_free(model) == WEFT_SUCCESS);
    exit(check_failures != 0);
  }
  CHECK(succeeds(child));
  CHECK(answer(session) == expected);
  weft_session_free(session);
  weft_model_free(model);
}

/* `end` is exit() or _exit(). */
static int child_computes(weft_model* model, void (*end)(int)) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    weft_session* own = open_session(model);
    (void)answer(own);
    weft_session_free(own);
    end(check_failures != 0);
  }
  return succeeds(child);
}

void fork_while_computing(void) {
  weft_model* model = open_model();
  static endless computing;
  pthread_t thread;
  computing.session = open_session(model);
  pthread_create(&thread, NULL, feed_without_end, &computing);
  for (int i = 0; i < 10; ++i) {
    sleep_ms(3);
    CHECK(child_computes(model, exit));
  }
  /* A call that begins later is not cancelled, so once may not be enough. */
  while (computing.status == WEFT_SUCCESS) weft_session_cancel(computing.session), sleep_ms(1);
  pthread_join(thread, NULL);
  CHECK(computing.status == WEFT_ERROR_CANCELLED);
}

static volatile int opening;
static void* open_without_end(void* model) {
  while (opening) weft_session_free(open_session(model));
  return NULL;
}
/* The locks that other threads held do not stay locked in the child. */
void fork_while_opening(void) {
  weft_model* model = open_model();
  pthread_t threads[2];
  weft_session_free(open_session(model)); /* the first one makes what the library keeps */
  opening = 1;
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, open_without_end, model);
  for (int i = 0; i < 20; ++i) {
    sleep_ms(2);
    /* oneTBB may wait in exit() for a thread of the parent that was joining an arena. */
    CHECK(child_computes(model, _exit));
  }
  opening = 0;
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  weft_model_free(model);
}

/* What the library makes once may be half-made by another thread when the process forks. */
static void* open_and_answer(void* user) {
  (void)user;
  weft_model* model = open_model();
  weft_session* session = open_session(model);
  (void)answer(session);
  weft_session_free(session);
  weft_model_free(model);
  return NULL;
}
void fork_while_all_is_new(void) {
  pthread_t thread;
  srand((unsigned)getpid());
  pthread_create(&thread, NULL, open_and_answer, NULL);
  const struct timespec time = {0, rand() % 3000000};
  nanosleep(&time, NULL);
  const pid_t child = fork();
  if (child == 0) {
    alarm(200);
    (void)open_and_answer(NULL);
    _exit(check_failures != 0);
  }
  CHECK(succeeds(child));
  pthread_join(thread, NULL);
}

/* Saving reads all weights of a model once. */
static void save(weft_model* model) {
  weft_error* error = NULL;
  weft_text bytes = {NULL, 0};
  const weft_token tokens[] = {1, 2};
  weft_session* session = open_session(model);
  OK(weft_session_feed(session, 0, tokens, 2, NULL, NULL, &error));
  OK(weft_session_save(session, 0, tokens, 2, NULL, 0, &bytes, &error));
  weft_text_free(&bytes);
  weft_session_free(session);
}
static void* save_first(void* model) {
  save((weft_model*)model);
  return NULL;
}
/* The child does not wait for a thread that was reading. */
void fork_while_saving(void) {
  weft_model_options options;
  weft_error* error = NULL;
  weft_session_free(open_session(open_model()));
  srand((unsigned)getpid());
  for (int i = 0; i < 10; ++i) {
    weft_model* model = NULL;
    weft_model_options_init(&options, sizeof options);
    options.quantize = i % 2 ? "Q4_0" : "Q8_0"; /* another identity */
    OK(weft_model_open(model_path(), &options, &model, &error));
    pthread_t thread;
    pthread_create(&thread, NULL, save_first, model);
    const struct timespec time = {0, rand() % 3000000};
    nanosleep(&time, NULL);
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      save(model);
      _exit(check_failures != 0);
    }
    CHECK(succeeds(child));
    pthread_join(thread, NULL);
    weft_model_free(model);
  }
}
