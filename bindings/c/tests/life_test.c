/* c_api_life CASE: threads, forks, jumps and the end of the process. A case is a process of its
 * own, and succeeds with exit code 0 and no output. */
#include "life.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

void sleep_ms(long ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

weft_model* open_model(void) {
  weft_error* error = NULL;
  weft_model* model = NULL;
  OK(weft_model_open(model_path(), NULL, &model, &error));
  return model;
}

weft_session* open_session(weft_model* model) {
  weft_error* error = NULL;
  weft_session* session = NULL;
  weft_session_options options;
  weft_session_options_init(&options, sizeof options);
  options.context = 512;
  OK(weft_session_open(model, &options, &session, &error));
  return session;
}

static const weft_token prompt[] = {1, 2, 3, 4, 5, 6};

weft_token answer(weft_session* session) {
  weft_error* error = NULL;
  float* logits = NULL;
  size_t n = 0, best = 0;
  OK(weft_session_truncate(session, 0, 0, &error));
  OK(weft_session_feed(session, 0, prompt, 6, NULL, NULL, &error));
  OK(weft_session_get_logits(session, &logits, &n, &error));
  for (size_t i = 1; i < n; ++i)
    if (logits[i] > logits[best]) best = i;
  return (weft_token)best;
}

void* feed_without_end(void* user) {
  endless* e = user;
  e->status = WEFT_SUCCESS;
  while (e->status == WEFT_SUCCESS) {
    e->status = weft_session_truncate(e->session, 0, 0, NULL);
    for (int i = 0; i < 50 && e->status == WEFT_SUCCESS; ++i)
      e->status = weft_session_feed(e->session, 0, prompt, 6, NULL, NULL, NULL);
  }
  return NULL;
}

static void exit_while_computing(void) {
  weft_model* model = open_model();
  static endless all[3];
  srand((unsigned)getpid());
  for (int i = 0; i < 3; ++i) {
    pthread_t thread;
    all[i].session = open_session(model);
    pthread_create(&thread, NULL, feed_without_end, &all[i]);
  }
  sleep_ms(rand() % 30);
  exit(check_failures != 0);
}

static void close_the_library_while_computing(void) {
  void* library = dlopen(WEFT_TEST_LIBRARY, RTLD_NOW);
  CHECK(library != NULL);
  static endless computing;
  weft_model* model = open_model();
  pthread_t thread;
  computing.session = open_session(model);
  pthread_create(&thread, NULL, feed_without_end, &computing);
  CHECK(dlclose(library) == 0);
  sleep_ms(10);
  CHECK(computing.status == WEFT_SUCCESS);
}

static void two_threads_in_one_session(void) {
  weft_model* model = open_model();
  weft_session* session = open_session(model);
  endless both[2] = {{session, WEFT_SUCCESS}, {session, WEFT_SUCCESS}};
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, feed_without_end, &both[i]);
  while (both[0].status == WEFT_SUCCESS && both[1].status == WEFT_SUCCESS) sleep_ms(1);
  const int loser = both[0].status == WEFT_SUCCESS;
  CHECK(both[loser].status == WEFT_ERROR_BUSY);
  /* Freed while the other thread computes: it goes on, and its next call fails. */
  CHECK(weft_session_free(session) == WEFT_SUCCESS);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  CHECK(both[!loser].status == WEFT_ERROR_HANDLE || both[!loser].status == WEFT_ERROR_BUSY);
  weft_model_free(model);
}

static void* answer_often(void* user) {
  weft_session* session = open_session((weft_model*)user);
  const weft_token first = answer(session);
  for (int i = 0; i < 20; ++i) CHECK(answer(session) == first);
  weft_session_free(session);
  return NULL;
}

static void sessions_side_by_side(void) {
  weft_model* models[] = {open_model(), open_model()};
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, answer_often, models[i % 2]);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  weft_model_free(models[0]);
  weft_model_free(models[1]);
}

static jmp_buf escape;
static int32_t jump_from_loading(void* user, double share) {
  (void)user, (void)share;
  longjmp(escape, 1);
}
static int32_t jump_from_feeding(void* user, int64_t done, int64_t total) {
  (void)user, (void)done, (void)total;
  longjmp(escape, 1);
}

static weft_builder* lost_builder;
static weft_graph* lost_graph;
static weft_status jump_from_building(void* user, weft_builder* builder, weft_tensor_id* result,
                                      weft_error** error) {
  (void)user, (void)result;
  lost_builder = builder;
  weft_builder_get_graph(builder, &lost_graph, error);
  longjmp(escape, 1);
}

static void jumps_out_of_builders(void) {
  weft_error* error = NULL;
  const weft_architecture a = {
      .struct_size = sizeof a, .name = "test_jump", .build = jump_from_building};
  weft_tensor_id y = -1;
  int32_t size = 0;
  OK(weft_register_architecture(&a, &error));
  if (setjmp(escape) == 0) weft_write_made_model("test_jump", NULL, 0, "/tmp/no-such-model", NULL);
  REFUSED(WEFT_ERROR_HANDLE, "has ended",
          weft_builder_get_input(lost_builder, WEFT_INPUT_TOKENS, &y, &error));
  REFUSED(WEFT_ERROR_HANDLE, "has ended", weft_graph_get_size(lost_graph, &size, &error));
  weft_session* session = open_session(open_model());
  CHECK(answer(session) >= 0);
}

static void jumps_out_of_callbacks(void) {
  weft_error* error = NULL;
  weft_model* model = NULL;
  weft_model_options options;
  weft_model_options_init(&options, sizeof options);
  options.progress = jump_from_loading;
  if (setjmp(escape) == 0) weft_model_open(model_path(), &options, &model, NULL);
  model = open_model();
  weft_session* session = open_session(model);
  weft_session* volatile other = open_session(model);
  if (setjmp(escape) == 0) weft_session_feed(session, 0, prompt, 6, jump_from_feeding, NULL, NULL);
  int64_t length = 0;
  REFUSED(WEFT_ERROR_BUSY, "a callback did not return",
          weft_session_get_length(session, 0, &length, &error));
  CHECK(answer(other) >= 0);
  CHECK(weft_session_free(session) == WEFT_SUCCESS);
  weft_session_free(other);
  weft_session_options slow;
  weft_session_options_init(&slow, sizeof slow);
  slow.progress = jump_from_loading;
  slow.weights = WEFT_WEIGHTS_RESIDENT;
  if (setjmp(escape) == 0) weft_session_open(model, &slow, &session, NULL);
  weft_model* second = open_model();
  other = open_session(second);
  CHECK(answer(other) >= 0);
}

/* A thread that ends in a callback unwinds the stack; the process goes on. */
static int32_t end_thread(void* user, int64_t done, int64_t total) {
  (void)done, (void)total;
  if (user != NULL) pthread_exit(NULL);
  return 0;
}
static void* feed_and_end(void* user) {
  weft_session_feed((weft_session*)user, 0, prompt, 6, end_thread, user, NULL);
  return NULL;
}
static void threads_that_end_in_callbacks(void) {
  weft_model* model = open_model();
  weft_session* session = open_session(model);
  pthread_t thread;
  pthread_create(&thread, NULL, feed_and_end, session);
  pthread_join(thread, NULL);
  CHECK(answer(session) >= 0);
  weft_session_free(session);
  weft_model_free(model);
}

/* Calls at the end of the process, after the library closed, fail; bytes are released all the same.
 */
static void count_release(void* user) {
  ++*(int*)user;
}
static void open_when_closed(void) {
  weft_error* error = NULL;
  weft_model* model = NULL;
  int released = 0;
  REFUSED(WEFT_ERROR_CLOSED, "the process is ending",
          weft_model_open_memory("GGUF", 4, "x", count_release, &released, NULL, &model, &error));
  CHECK(released == 1 && model == NULL);
  if (check_failures != 0) _exit(1);
}
static void calls_after_the_end(void) {
  atexit(open_when_closed);
  weft_model_free(open_model());
}

static void* check_without_end(void* user) {
  while (weft_check_new_model_json(user, NULL, 0, NULL, NULL, NULL, NULL, NULL) !=
         WEFT_ERROR_CLOSED) {
  }
  return NULL;
}
/* Checks use what the library makes once and keeps, which exit() must not destroy. */
static void exit_while_checking(void) {
  static char architecture[] = "llama";
  srand((unsigned)getpid());
  for (int i = 0; i < 2; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, check_without_end, architecture);
  }
  sleep_ms(rand() % 60);
  exit(check_failures != 0);
}

/* A callback does not hold up the end of the process: who waits for what only it could end, waits
 * for ever. */
static volatile int in_callback;
static int32_t wait_for_ever(void* user, int64_t done, int64_t total) {
  (void)user, (void)done, (void)total;
  in_callback = 1;
  for (;;) pause();
  return 0;
}
static void* feed_and_wait(void* session) {
  weft_session_feed((weft_session*)session, 0, prompt, 6, wait_for_ever, NULL, NULL);
  return NULL;
}
static void exit_while_a_callback_waits(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, feed_and_wait, open_session(open_model()));
  while (!in_callback) sleep_ms(1);
  exit(check_failures != 0);
}

static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {{"exit", exit_while_computing},
             {"exit_checking", exit_while_checking},
             {"exit_callback", exit_while_a_callback_waits},
             {"fork_new", fork_while_all_is_new},
             {"fork_saving", fork_while_saving},
             {"fork_opening", fork_while_opening},
             {"closed", calls_after_the_end},
             {"fork", fork_in_peace},
             {"fork_busy", fork_while_computing},
             {"dlclose", close_the_library_while_computing},
             {"one_session", two_threads_in_one_session},
             {"side_by_side", sessions_side_by_side},
             {"longjmp", jumps_out_of_callbacks},
             {"longjmp_builder", jumps_out_of_builders},
             {"pthread_exit", threads_that_end_in_callbacks}};

int main(int argc, char** argv) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (argc != 2 || strcmp(argv[1], cases[i].name) != 0) continue;
    cases[i].run();
    return check_failures != 0;
  }
  fputs("usage: c_api_life CASE\n", stderr);
  return 2;
}
