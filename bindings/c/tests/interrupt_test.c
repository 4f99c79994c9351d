/* Calls that a callback ends. */
#include "check.h"

/* Counts calls, and ends all after `*user`. */
static int32_t after_some(void* user) {
  return --*(int*)user < 0;
}

static weft_session* polled(int* calls, int32_t sequences) {
  weft_error* error = NULL;
  weft_session* session = NULL;
  weft_session_options options;
  weft_session_options_init(&options, sizeof options);
  options.context = 128;
  options.sequences = sequences;
  options.poll = after_some;
  options.poll_user = calls;
  OK(weft_session_open(stories(), &options, &session, &error));
  return session;
}

static const weft_token prompt[] = {1, 2, 3, 4};

static void steps_are_polled(void) {
  weft_error* error = NULL;
  int calls = 1;
  weft_session* session = polled(&calls, 1);
  int64_t length = -1;
  OK(weft_session_feed(session, 0, prompt, 4, NULL, NULL, &error)); /* one call, or the first two */
  calls = 0;
  weft_status status = WEFT_SUCCESS; /* sooner or later: within 50 ms */
  for (int i = 0; i < 100000 && status == WEFT_SUCCESS; ++i) {
    OK(weft_session_truncate(session, 0, 0, &error));
    status = weft_session_feed(session, 0, prompt, 4, NULL, NULL, NULL);
  }
  CHECK(status == WEFT_ERROR_CANCELLED);
  OK(weft_session_get_length(session, 0, &length, &error));
  CHECK(length == 0);
  weft_session_free(session);
}

static void texts_are_polled(void) {
  weft_error* error = NULL;
  int calls = 0;
  weft_session* session = polled(&calls, 1);
  weft_generation* generation = greedy(session, 0, NULL);
  weft_generation_event event = {.struct_size = sizeof event};
  OK(weft_generation_begin(generation, prompt, 4, 0, &error));
  OK(weft_generation_next(generation, &event, &error));
  CHECK(event.stop == WEFT_STOP_CANCELLED);
  weft_generation_free(generation);
  weft_session_free(session);
}

static void batches_are_polled(void) {
  weft_error* error = NULL;
  int calls = 0;
  weft_session* session = polled(&calls, 1);
  weft_generation* generation = greedy(session, 0, NULL);
  weft_generation_event event = {.struct_size = sizeof event};
  weft_batch* batch = NULL;
  int32_t has_event = 7;
  OK(weft_batch_open(session, &batch, &error));
  OK(weft_generation_begin(generation, prompt, 4, 0, &error));
  REFUSED(WEFT_ERROR_CANCELLED, "cancelled",
          weft_batch_step(batch, &generation, 1, &event, &has_event, &error));
  calls = 1000;
  OK(weft_batch_step(batch, &generation, 1, &event, &has_event, &error));
  CHECK(has_event == 1 && event.token >= 0);
  weft_generation_free(generation);
  weft_batch_free(batch);
  weft_session_free(session);
}

static void computations_are_polled(void) {
  weft_error* error = NULL;
  weft_graph* graph = NULL;
  weft_computation* computation = NULL;
  const weft_dim dim = {.bound = 64};
  weft_tensor_id x = -1, y = -1;
  int calls = 0;
  OK(weft_graph_open(&graph, &error));
  OK(weft_graph_input(graph, "x", "F32", &dim, 1, &x, &error));
  OK(weft_graph_op(graph, "silu", &x, 1, NULL, 0, &y, &error));
  OK(weft_graph_op(graph, "silu", &y, 1, NULL, 0, &y, &error));
  OK(weft_graph_output(graph, "y", y, &error));
  weft_computation_options options;
  weft_computation_options_init(&options, sizeof options);
  options.poll = after_some;
  options.poll_user = &calls;
  if (OK(weft_computation_open(graph, &options, &computation, &error)))
    REFUSED(WEFT_ERROR_CANCELLED, "", weft_computation_run(computation, NULL, 0, &error));
  weft_computation_free(computation);
  weft_graph_free(graph);
}

static int32_t end_at_once(void* user, const weft_reply_event* event) {
  ++*(int*)user;
  (void)event;
  return 1;
}

static void listeners_end_replies(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(1);
  weft_conversation* conversation = NULL;
  int32_t stop = -1;
  int events = 0;
  if (OK(weft_conversation_open(session, 0, NULL, &conversation, &error)))
    OK(weft_conversation_say(conversation, "Tell me a story.", 16, NULL, end_at_once, &events,
                             &stop, &error));
  CHECK(stop == WEFT_STOP_CANCELLED && events == 1);
  weft_conversation_free(conversation);
  weft_session_free(session);
}

const test_case interrupt_tests[] = {{"steps are polled", steps_are_polled},
                                     {"texts are polled", texts_are_polled},
                                     {"batches are polled", batches_are_polled},
                                     {"computations are polled", computations_are_polled},
                                     {"listeners end replies", listeners_end_replies},
                                     {NULL, NULL}};
