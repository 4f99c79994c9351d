/* What the cases of c_api_life share. */
#ifndef WEFT_C_TESTS_LIFE_H
#define WEFT_C_TESTS_LIFE_H

#include "check.h"

void sleep_ms(long ms);
weft_model* open_model(void);
weft_session* open_session(weft_model* model);
/* The most likely token after a prompt. */
weft_token answer(weft_session* session);
/* Feeds a session without end, until a call fails; *status is how. */
typedef struct endless {
  weft_session* session;
  _Atomic weft_status status;
} endless;
void* feed_without_end(void* user);

/* Cases of life_forks.c. */
void fork_in_peace(void);
void fork_while_computing(void);
void fork_while_opening(void);
void fork_while_all_is_new(void);
void fork_while_saving(void);

#endif
