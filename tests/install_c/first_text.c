/* Continues a text: first_text MODEL. */
#include <stdio.h>
#include <string.h>

#include "weft/weft.h"

static weft_status run(const char* path, weft_error** error) {
  weft_model* model = NULL;
  weft_session* session = NULL;
  weft_generation* generation = NULL;
  weft_generation_event event = {.struct_size = sizeof event};
  weft_status status = weft_model_open(path, NULL, &model, error);
  if (status == WEFT_SUCCESS) status = weft_session_open(model, NULL, &session, error);
  if (status == WEFT_SUCCESS) status = weft_generation_open(session, 0, NULL, &generation, error);
  if (status == WEFT_SUCCESS)
    status = weft_generation_begin_text(generation, "Once upon a time", 16, error);
  for (int i = 0; i < 8 && status == WEFT_SUCCESS; ++i) {
    status = weft_generation_next(generation, &event, error);
    if (status == WEFT_SUCCESS) fputs(event.text, stdout);
  }
  putchar('\n');
  weft_generation_free(generation);
  weft_session_free(session);
  weft_model_free(model);
  return status;
}

int main(int argc, char** argv) {
  weft_error* error = NULL;
  if (argc != 2) return 2;
  if (run(argv[1], &error) == WEFT_SUCCESS) return 0;
  fprintf(stderr, "first_text: %s\n", weft_error_message(error));
  weft_error_free(error);
  return 1;
}
