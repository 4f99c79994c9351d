/* Checks for tests in C: a failed one is printed and counted, and the test goes on. */
#ifndef WEFT_C_TESTS_CHECK_H
#define WEFT_C_TESTS_CHECK_H

#include <stdio.h>
#include <string.h>

#include "weft/weft.h"

typedef struct test_case {
  const char* name;
  void (*run)(void);
} test_case;

/* The bundled model. */
const char* model_path(void);
/* A path in a folder that is removed at the end, in a buffer that later calls overwrite. */
const char* temporary(const char* name);

extern _Atomic int check_failures;
extern const char* check_context; /* the name of the test, for messages */
void check_failed(const char* file, int line, const char* what);
int check_success(weft_status status, weft_error* error, const char* file, int line,
                  const char* what);
/* Frees the error. */
void check_refused(weft_status got, weft_error* error, weft_status wanted, const char* message,
                   const char* file, int line, const char* what);

#define CHECK(condition) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))
extern _Thread_local weft_status check_status; /* of the last checked call */
/* The call succeeds: OK(weft_x(a, &error)), with a `weft_error* error`. 1 if it did. */
#define OK(function_call)          \
  (check_status = (function_call), \
   check_success(check_status, error, __FILE__, __LINE__, #function_call))
/* The call fails with this status and a message that contains `message`. */
#define REFUSED(status, message, function_call)                                             \
  (error = NULL, check_status = (function_call),                                            \
   check_refused(check_status, error, status, message, __FILE__, __LINE__, #function_call), \
   error = NULL)

/* Common objects, opened once. */
weft_model* stories(void);
weft_session* new_session(int sequences);
/* A generation in a sequence, which always chooses the most likely token. `options` may be NULL. */
weft_generation* greedy(weft_session* session, int sequence, weft_generation_options* options);
/* A text in sequence 0, begun and continued until the sequence holds guesses; without a speculation
 * (NULL), until its first token. */
weft_generation* text_with_guesses(weft_session* session, weft_speculation* speculation,
                                   weft_generation_info* info);

#endif
