/* Texts that are found in other ways than token by token: by diffusion, and by a beam search. */
#include "check.h"

static const weft_token prompt[] = {3, 11, 42};

/* A made model that diffuses. */
static weft_model* diffuser(void) {
  weft_error* error = NULL;
  weft_model* model = NULL;
  OK(weft_write_made_model("llada", NULL, 0, temporary("llada.gguf"), &error));
  OK(weft_model_open(temporary("llada.gguf"), NULL, &model, &error));
  return model;
}

static weft_diffusion_options eight_tokens(void) {
  weft_diffusion_options options;
  CHECK(weft_diffusion_options_init(&options, sizeof options) == WEFT_SUCCESS);
  options.max_tokens = 8;
  options.steps = 4;
  options.mask_token = 7;
  options.shift_logits = 0;
  return options;
}

/* A session of the model that fits these options. */
static weft_session* fitting(weft_model* model, const weft_diffusion_options* options) {
  weft_error* error = NULL;
  weft_session* session = NULL;
  weft_session_options how;
  weft_session_options_init(&how, sizeof how);
  how.context = 64;
  how.prefill_width = 2;
  OK(weft_diffusion_fit_session(options, 3, &how, &error));
  CHECK(how.prefill_width == 11 && how.logits_rows == 8);
  OK(weft_session_open(model, &how, &session, &error));
  return session;
}

static void masked_tokens_are_filled_in(void) {
  weft_error* error = NULL;
  weft_model* model = diffuser();
  const weft_diffusion_options options = eight_tokens();
  weft_session* session = fitting(model, &options);
  weft_diffusion* diffusion = NULL;
  weft_diffusion_info info = {.struct_size = sizeof info};
  int32_t more = 0;
  weft_text text = {NULL, 0};
  if (OK(weft_diffusion_open(session, 0, &options, &diffusion, &error))) {
    REFUSED(WEFT_ERROR_ARGUMENT, "begin", weft_diffusion_step(diffusion, &more, &error));
    OK(weft_diffusion_begin(diffusion, prompt, 3, &error));
    OK(weft_diffusion_get_info(diffusion, &info, &error));
    CHECK(info.n_tokens == 11 && info.n_prompt == 3 && info.n_masked == 8 && info.n_steps == 4);
    CHECK(info.tokens[0] == 3 && info.tokens[10] == 7);
    int steps = 0;
    do {
      if (!OK(weft_diffusion_step(diffusion, &more, &error))) break;
      steps += more;
    } while (more);
    CHECK(steps > 0 && steps <= 4);
    OK(weft_diffusion_get_info(diffusion, &info, &error));
    CHECK(info.n_masked == 0 && info.steps_done == 4);
    REFUSED(WEFT_ERROR_UNSUPPORTED, "", weft_diffusion_get_text(diffusion, "_", &text, &error));
    const weft_token unknown = 1 << 20;
    REFUSED(WEFT_ERROR_ARGUMENT, "prompt: 1048576 is not a token",
            weft_diffusion_begin(diffusion, &unknown, 1, &error));
    REFUSED(WEFT_ERROR_ARGUMENT, "", weft_diffusion_begin(diffusion, prompt, 0, &error));
  }
  CHECK(weft_diffusion_free(diffusion) == WEFT_SUCCESS);
  REFUSED(WEFT_ERROR_HANDLE, "diffusion was freed", weft_diffusion_step(diffusion, &more, &error));
  weft_session_free(session);
  weft_model_free(model);
}

static void options_of_diffusion_are_checked(void) {
  weft_error* error = NULL;
  weft_model* model = diffuser();
  weft_diffusion_options options = eight_tokens();
  weft_session* session = fitting(model, &options);
  weft_session* other = new_session(1);
  weft_diffusion* diffusion = NULL;
  REFUSED(WEFT_ERROR_UNSUPPORTED, "diffusion",
          weft_diffusion_open(other, 0, &options, &diffusion, &error));
  weft_session_free(other);
  options.algorithm = "dice";
  REFUSED(WEFT_ERROR_ARGUMENT, "unknown algorithm 'dice' (known: confidence, ",
          weft_diffusion_open(session, 0, &options, &diffusion, &error));
  options = eight_tokens();
  options.shift_logits = 2;
  REFUSED(WEFT_ERROR_ARGUMENT, "`shift_logits`",
          weft_diffusion_open(session, 0, &options, &diffusion, &error));
  options = eight_tokens();
  options.steps = 0;
  REFUSED(
      WEFT_ERROR_ARGUMENT, "steps",
      weft_diffusion_fit_session(&options, 3, &(weft_session_options){.struct_size = 8}, &error));
  options = eight_tokens();
  options.max_tokens = 1000;
  REFUSED(WEFT_ERROR_ARGUMENT, "", weft_diffusion_fit_session(&options, 3, NULL, &error));
  options.max_tokens = 8;
  REFUSED(WEFT_ERROR_ARGUMENT, "`diffusion` is NULL",
          weft_diffusion_open(session, 0, &options, NULL, &error));
  weft_session_free(session);
  weft_model_free(model);
}

static void the_most_likely_texts_are_found(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(4);
  weft_generation_options how;
  weft_generation_options_init(&how, sizeof how);
  how.max_tokens = 6;
  weft_generation* generation = greedy(session, 0, &how);
  weft_beam_options options;
  weft_text json = {NULL, 0};
  CHECK(weft_beam_options_init(&options, sizeof options) == WEFT_SUCCESS);
  CHECK(options.beams == 4 && options.length_penalty == 1);
  OK(weft_generation_begin_text(generation, "Once upon", 9, &error));
  options.stopping = "soon";
  REFUSED(WEFT_ERROR_ARGUMENT, "`stopping` must be 'never', 'likely' or 'first', got 'soon'",
          weft_generation_search_json(generation, &options, &json, &error));
  options.stopping = NULL;
  options.beams = 0;
  REFUSED(WEFT_ERROR_ARGUMENT, "beams",
          weft_generation_search_json(generation, &options, &json, &error));
  options.beams = 4;
  if (OK(weft_generation_search_json(generation, &options, &json, &error))) {
    CHECK(strncmp(json.data, "[{\"text\":\" a time", 16) == 0);
    int n = 0;
    for (const char* at = json.data; (at = strstr(at, "\"score\":")) != NULL; ++at) ++n;
    CHECK(n == 4);
    weft_text_free(&json);
  }
  REFUSED(WEFT_ERROR_ARGUMENT, "", weft_generation_search_json(generation, NULL, &json, &error));
  weft_generation_free(generation);
  weft_session_free(session);
}

const test_case diffusion_tests[] = {
    {"masked tokens are filled in", masked_tokens_are_filled_in},
    {"options of diffusion are checked", options_of_diffusion_are_checked},
    {"the most likely texts are found", the_most_likely_texts_are_found},
    {NULL, NULL}};
