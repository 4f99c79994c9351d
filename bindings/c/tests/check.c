#include "check.h"

#include <stdlib.h>

_Thread_local weft_status check_status;
_Atomic int check_failures;
const char* check_context = "";

void check_failed(const char* file, int line, const char* what) {
  ++check_failures;
  fprintf(stderr, "%s:%d: %s: failed: %s\n", file, line, check_context, what);
}

int check_success(weft_status status, weft_error* error, const char* file, int line,
                  const char* what) {
  if (status == WEFT_SUCCESS) return 1;
  check_failed(file, line, what);
  fprintf(stderr, "  %s: %s\n", weft_status_name(status), weft_error_message(error));
  return 0;
}

void check_refused(weft_status got, weft_error* error, weft_status wanted, const char* message,
                   const char* file, int line, const char* what) {
  if (got != wanted || strstr(weft_error_message(error), message) == NULL ||
      weft_error_status(error) != got) {
    check_failed(file, line, what);
    fprintf(stderr, "  got %s \"%s\", expected %s \"%s\"\n", weft_status_name(got),
            weft_error_message(error), weft_status_name(wanted), message);
  }
  weft_error_free(error);
}

const char* model_path(void) {
  const char* given = getenv("WEFT_TEST_MODEL");
  return given != NULL ? given : WEFT_TEST_MODEL;
}
