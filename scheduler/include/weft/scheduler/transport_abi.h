/* The ABI between Weft and a library that carries messages between its processes: plain C,
 * independent of all other headers of Weft. Such a library is built for one MPI, whose headers and
 * binary interface differ from those of others.
 *
 * A library exports one function, weft_transport_entry(), which returns a table of functions:
 * open() first, by all processes that were started together; close() last. Calls come one at a
 * time, from any thread.
 *
 * Weft sets the size of a struct that the library fills. New members are added at the end; any
 * other change increments WEFT_TRANSPORT_VERSION.
 */
#ifndef WEFT_SCHEDULER_TRANSPORT_ABI_H
#define WEFT_SCHEDULER_TRANSPORT_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_TRANSPORT_VERSION 1u
#define WEFT_TRANSPORT_ENTRY "weft_transport_entry"
#define WEFT_TRANSPORT_CHANNELS 3u

/* What functions return. Unless it is WEFT_TRANSPORT_OK, last_error() has the details. */
typedef int32_t weft_transport_status;
enum {
  WEFT_TRANSPORT_OK = 0,
  WEFT_TRANSPORT_FAILED = 1,
  WEFT_TRANSPORT_LOST = 2 /* the other rank is lost: last_error() is its reason */
};

/* NOLINTBEGIN(readability-identifier-naming): names of C */
typedef struct weft_transport_world {
  uint32_t struct_size;
  int32_t rank, size;
  char name[128]; /* "Open MPI v4.1.4" */
} weft_transport_world;

typedef struct weft_transport {
  uint32_t struct_size;
  uint32_t abi_version; /* WEFT_TRANSPORT_VERSION of the header it was built with */

  /* Why the last call failed: one line without a period at the end. Valid until the next call. */
  const char* (*last_error)(void);

  /* Waits until all processes have called it. */
  weft_transport_status (*open)(weft_transport_world* world);

  /* Sends a copy and returns before it arrives. Messages from one rank to another on one channel
   * arrive in their order. Memory of earlier messages that have arrived is used again. At most
   * INT32_MAX bytes; to another rank. */
  weft_transport_status (*send)(int32_t to, uint32_t channel, const void* bytes, int64_t n_bytes);

  /* The size of the next message; -1: none has arrived; -2: likewise, and messages from or to this
   * rank are under way, which only arrive while functions of this table are called.
   * WEFT_TRANSPORT_LOST: none can arrive. */
  weft_transport_status (*arrived)(int32_t from, uint32_t channel, int64_t* n_bytes);
  /* Takes that message; `n_bytes` is its size. */
  weft_transport_status (*take)(int32_t from, uint32_t channel, void* bytes, int64_t n_bytes);

  /* Tells all others that this rank is lost, unless they were told before. It does not wait until
   * they know. */
  void (*abandon)(const char* why);

  /* Tells all others that this rank has ended, waits a bounded time until what was sent has arrived
   * and the others have ended, too. Nothing is called after it. */
  void (*close)(void);
} weft_transport;
/* NOLINTEND(readability-identifier-naming) */

#if defined(_WIN32)
#define WEFT_TRANSPORT_EXPORT __declspec(dllexport)
#else
#define WEFT_TRANSPORT_EXPORT __attribute__((visibility("default")))
#endif

/* The only exported symbol. `abi_version` is Weft's; returns NULL if the library does not support
 * it. The table lives as long as the library. */
WEFT_TRANSPORT_EXPORT const weft_transport* weft_transport_entry(uint32_t abi_version);

#ifdef __cplusplus
}
#endif

#endif
