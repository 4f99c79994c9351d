#include <stdlib.h>

#include "check.h"

static void versions_are_those_of_the_header(void) {
  CHECK(weft_api_version() == 1000 * WEFT_API_VERSION_MAJOR + WEFT_API_VERSION_MINOR);
  CHECK(strlen(weft_version()) >= 5);
}

static void statuses_have_names(void) {
  CHECK(strcmp(weft_status_name(WEFT_SUCCESS), "success") == 0);
  CHECK(strcmp(weft_status_name(WEFT_ERROR_BUSY), "busy") == 0);
  CHECK(strcmp(weft_status_name(WEFT_ERROR_INTERNAL), "internal") == 0);
  CHECK(strcmp(weft_status_name(-1), "unknown") == 0);
  CHECK(strcmp(weft_status_name(1000), "unknown") == 0);
}

static void errors_are_made_read_and_freed(void) {
  weft_error* error = NULL;
  CHECK(weft_error_make(WEFT_ERROR_FORMAT, "not so", &error) == WEFT_ERROR_FORMAT);
  CHECK(strcmp(weft_error_message(error), "not so") == 0);
  CHECK(weft_error_status(error) == WEFT_ERROR_FORMAT);
  CHECK(weft_error_os_error(error) == 0);
  weft_error_free(error);
  CHECK(strcmp(weft_error_message(error), "") == 0);
  CHECK(weft_error_status(error) == WEFT_SUCCESS);
  weft_error_free(error);
  weft_error_free(NULL);
  CHECK(weft_error_make(WEFT_ERROR_IO, NULL, NULL) == WEFT_ERROR_IO);
}

static void texts_can_be_freed_twice(void) {
  weft_text text = {NULL, 0};
  weft_text_free(&text);
  weft_text_free(NULL);
  weft_error* error = NULL;
  if (OK(weft_model_warnings_json(stories(), &text, &error))) {
    CHECK(strcmp(text.data, "[]") == 0 && text.size == 2);
    weft_text_free(&text);
    CHECK(text.data == NULL && text.size == 0);
    weft_text_free(&text);
  }
}

static void handles_are_checked(void) {
  weft_error* error = NULL;
  weft_model_info info = {.struct_size = sizeof info};
  int local = 0;
  REFUSED(WEFT_ERROR_HANDLE, "the model is NULL", weft_model_get_info(NULL, &info, &error));
  REFUSED(WEFT_ERROR_HANDLE, "not a handle of a model",
          weft_model_get_info((weft_model*)&local, &info, &error));
  REFUSED(WEFT_ERROR_HANDLE, "a model was given, expected a session",
          weft_session_json((weft_session*)stories(), NULL, &error));
  weft_model* model = NULL;
  if (!OK(weft_model_open(model_path(), NULL, &model, &error))) return;
  CHECK(weft_model_free(model) == WEFT_SUCCESS);
  CHECK(weft_model_free(model) == WEFT_ERROR_HANDLE);
  REFUSED(WEFT_ERROR_HANDLE, "the model was freed", weft_model_get_info(model, &info, &error));
  CHECK(weft_model_free(NULL) == WEFT_SUCCESS);
  CHECK(weft_model_get_info(model, &info, NULL) == WEFT_ERROR_HANDLE);
}

static void structs_of_other_versions_are_read(void) {
  struct {
    weft_session_options options;
    char more[64];
  } newer;
  weft_error* error = NULL;
  weft_session* session = NULL;
  CHECK(weft_session_options_init(&newer.options, sizeof newer) == WEFT_SUCCESS);
  CHECK(newer.options.struct_size == sizeof newer);
  newer.options.context = 64;
  if (OK(weft_session_open(stories(), &newer.options, &session, &error)))
    weft_session_free(session);
  newer.more[7] = 1;
  REFUSED(WEFT_ERROR_UNSUPPORTED, "is set, but the struct has",
          weft_session_open(stories(), &newer.options, &session, &error));
  newer.options.struct_size = 0;
  REFUSED(WEFT_ERROR_ARGUMENT, "struct_size is 0",
          weft_session_open(stories(), &newer.options, &session, &error));
  /* A program that knows only the first two members. */
  weft_session_options old = {.struct_size = 8, .sequences = 2, .context = -77};
  if (OK(weft_session_open(stories(), &old, &session, &error))) {
    weft_session_info info = {.struct_size = sizeof info};
    OK(weft_session_get_info(session, &info, &error));
    CHECK(info.sequences == 2 && info.context > 0);
    weft_session_free(session);
  }
  CHECK(weft_session_options_init(NULL, 8) == WEFT_ERROR_ARGUMENT);
  CHECK(weft_session_options_init(&old, 0) == WEFT_ERROR_ARGUMENT);
  CHECK(weft_session_options_init(&old, (size_t)1 << 63) == WEFT_ERROR_ARGUMENT);
}

const test_case base_tests[] = {
    {"versions are those of the header", versions_are_those_of_the_header},
    {"statuses have names", statuses_have_names},
    {"errors are made, read and freed", errors_are_made_read_and_freed},
    {"texts can be freed twice", texts_can_be_freed_twice},
    {"handles are checked", handles_are_checked},
    {"structs of other versions are read", structs_of_other_versions_are_read},
    {NULL, NULL}};
