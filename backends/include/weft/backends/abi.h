/* The ABI between Weft and a backend that is a shared library: plain C, no other header of Weft.
 *
 * A library exports one function, weft_backend_entry(), which returns a table of functions. The
 * life of what they make:
 *
 *   entry -> device_open -> buffer_create, queue_create
 *                        -> supports                    any number of times, while plans are made
 *                        -> upload                      weights, once
 *                        -> prepare                     a node whose tensors have their places
 *                        -> run, upload, download       every step; nothing is made any more
 *   program_destroy, buffer_destroy; device and library stay open as long as the process
 *
 * Structs that Weft fills begin with their size: a library looks only at members that lie within
 * it. Structs that a library fills arrive zeroed, with the size that Weft knows. New members come
 * at the end, zero means what a library without them does; what breaks this, and an op whose
 * inputs change, raises WEFT_ABI_VERSION.
 *
 * Threads: supports() may be called by any number of threads at once. All other calls for one
 * device come one at a time, from any thread, except run() of a device with
 * WEFT_DEVICE_HOST_MEMORY: several threads may run programs at once, each program one at a time.
 */
#ifndef WEFT_BACKENDS_ABI_H
#define WEFT_BACKENDS_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_ABI_VERSION 2u
#define WEFT_ABI_ENTRY "weft_backend_entry"
#define WEFT_MAX_RANK 4

#if defined(_WIN32)
#define WEFT_EXPORT __declspec(dllexport)
#else
#define WEFT_EXPORT __attribute__((visibility("default")))
#endif

/* What functions return. Whatever is not WEFT_OK or WEFT_UNSUPPORTED says more in last_error(). */
typedef int32_t weft_status;
enum {
  WEFT_OK = 0,
  WEFT_UNSUPPORTED = 1,   /* of supports(): somebody else shall run the node */
  WEFT_INVALID = 2,       /* an argument that cannot be */
  WEFT_OUT_OF_MEMORY = 3, /* of the device */
  WEFT_FAILED = 4,        /* this call failed, the next one may succeed */
  WEFT_DEVICE_LOST = 5    /* nothing succeeds on this device any more */
};

/* Made and known by the library alone. */
typedef struct weft_device weft_device;
typedef struct weft_buffer weft_buffer;   /* memory of a device */
typedef struct weft_queue weft_queue;     /* work of a device, done in the order it was given */
typedef struct weft_event weft_event;     /* a point in a queue */
typedef struct weft_program weft_program; /* a prepared node */

enum { /* weft_device_info.flags */
       /* The device computes in the host's memory: tensors have `data`, there are no buffers,
        * queues or copies, those functions may be NULL, and run() returns when the work is done. */
       WEFT_DEVICE_HOST_MEMORY = 1u << 0,
       /* upload() and run() may return before the work is done. */
       WEFT_DEVICE_ASYNC = 1u << 1
};

typedef struct weft_device_info {
  uint32_t struct_size;
  uint32_t flags;
  char name[64];         /* "NVIDIA H100" */
  char description[192]; /* driver, version, whatever tells machines apart */
  int64_t memory_bytes;  /* 0: unknown */
} weft_device_info;

enum {                      /* weft_tensor.kind */
       WEFT_ABSENT = 0,     /* an optional input that the node does not have */
       WEFT_ACTIVATION = 1, /* made in every step */
       WEFT_WEIGHT = 2,     /* never changes after it was uploaded */
       WEFT_STATE = 3       /* lives as long as the session: caches of keys and values */
};

/* Rows of contiguous elements, row-major: element (r, c) of a tensor of rank >= 2 lies
 * r * row_stride bytes behind the first one, plus the bytes of c elements; c runs over all
 * dimensions but the first. Quantized rows are whole blocks of block_elems elements in block_bytes
 * bytes each, as GGUF lays them out. */
typedef struct weft_tensor {
  uint32_t struct_size;
  uint32_t kind;
  const char* type; /* "F32", "F16", "I32", "Q8_0", "Q4_K", ...: as in GGUF */
  int32_t block_elems, block_bytes;
  int32_t rank;
  int32_t varies;              /* 1: dims[0] is an upper bound, run() says the extent */
  int64_t dims[WEFT_MAX_RANK]; /* slowest first */
  int64_t row_stride;          /* bytes */
  /* Where it is, in prepare(): in the host's memory, or at `offset` of `buffer`. */
  void* data;
  weft_buffer* buffer;
  int64_t offset;
} weft_tensor;

enum { WEFT_ATTR_INTEGER = 1, WEFT_ATTR_NUMBER = 2, WEFT_ATTR_TEXT = 3 };
typedef struct weft_attr {
  const char* name; /* "eps", "scale", "pairs": the fields of the op's attributes */
  uint32_t kind;    /* a number that is whole comes as WEFT_ATTR_INTEGER, truth as 0 or 1 */
  int64_t integer;  /* set for both kinds of numbers, rounded to zero */
  double number;    /* likewise */
  const char* text; /* of WEFT_ATTR_TEXT, otherwise NULL */
} weft_attr;

/* One node of a graph. What ops mean, what they take and their attributes is written down in
 * weft/ops/OP.h, which has no part in this ABI. */
typedef struct weft_node {
  uint32_t struct_size;
  uint32_t n_inputs;
  uint32_t n_attrs;
  const char* op;   /* "linear" */
  const char* path; /* "blk.3.ffn_down" */
  const weft_tensor* const* inputs;
  const weft_tensor* output; /* of an op that writes a state: the state, which is inputs[0] too */
  const weft_attr* attrs;
  /* In prepare(): host memory of at least weft_support.scratch_bytes, or the device's, for run().
   */
  void* scratch;
  weft_buffer* scratch_buffer;
  int64_t scratch_offset;
} weft_node;

/* The answer to WEFT_OK from supports(). */
typedef struct weft_support {
  uint32_t struct_size;
  /* Only with WEFT_DEVICE_HOST_MEMORY: 1 where run() can compute any region of the output, also
   * while other threads compute other regions of it by programs of their own. */
  uint32_t splits;
  int64_t granule;       /* columns it likes to get in multiples of; 0: any */
  int64_t scratch_bytes; /* working memory in run(), shared by all nodes that run one by one */
  char kernel[48];       /* what plans and profiles print: "linear q4_k tile"; empty: the op */
} weft_support;

/* Rows [row0, row1) and, of each, elements [col0, col1). */
typedef struct weft_region {
  int64_t row0, row1, col0, col1;
} weft_region;

typedef struct weft_run {
  uint32_t struct_size;
  uint32_t n_inputs;
  const int64_t* input_extents; /* dims[0] of every input in this step; 0 for absent ones */
  int64_t output_extent;        /* dims[0] of the output */
  weft_region region;           /* what to compute; all of the output, unless `splits` was said */
} weft_run;

/* `n_rows` runs of `row_bytes` bytes, so far apart on either side. */
typedef struct weft_copy {
  uint32_t struct_size;
  uint32_t reserved;
  int64_t n_rows, row_bytes;
  weft_buffer* buffer;
  int64_t offset, stride; /* in the buffer */
  void* host;             /* upload() only reads there */
  int64_t host_stride;
} weft_copy;

typedef struct weft_backend {
  uint32_t struct_size;
  uint32_t abi_version;    /* WEFT_ABI_VERSION of the header it was built with */
  const char* name;        /* "opencl": what --backend and --route take; letters, digits, _ and - */
  const char* version;     /* of the backend */
  const char* description; /* one line */

  /* Why the last call on this thread failed: one line without a full stop, valid until the next
   * call. */
  const char* (*last_error)(void);

  int32_t (*n_devices)(void); /* 0 where this machine has none that it can use */
  weft_status (*device_info)(int32_t index, weft_device_info* info);
  weft_status (*device_open)(int32_t index, weft_device** device);

  /* Whether the device can run a node, from its types, shapes and attributes: tensors have no
   * places yet. Must answer the same every time. */
  weft_status (*supports)(weft_device*, const weft_node*, weft_support* support);

  weft_status (*buffer_create)(weft_device*, int64_t n_bytes, weft_buffer** buffer); /* any bytes */
  void (*buffer_destroy)(weft_buffer*);

  weft_status (*queue_create)(weft_device*, weft_queue** queue);
  void (*queue_destroy)(weft_queue*);
  weft_status (*queue_finish)(weft_queue*); /* waits until all its work is done */
  /* Points in queues: for those who wait for one piece of work, or let queues wait for each other.
   * May be NULL: then Weft waits for whole queues. */
  weft_status (*event_record)(weft_queue*, weft_event** event);
  weft_status (*event_wait)(weft_event*);              /* the host waits */
  weft_status (*queue_wait)(weft_queue*, weft_event*); /* the queue waits */
  void (*event_destroy)(weft_event*);

  /* When upload() returns, the host may change its memory; when download() returns, the bytes are
   * there. Both take their turn in the queue. */
  weft_status (*upload)(weft_queue*, const weft_copy*);
  weft_status (*download)(weft_queue*, const weft_copy*);

  /* Compiles a node for the places that its tensors have. Everything that allocates or builds code
   * belongs here. `queue` is NULL for host memory. */
  weft_status (*prepare)(weft_device*, weft_queue*, const weft_node*, weft_program** program);
  weft_status (*run)(weft_program*, const weft_run*);
  void (*program_destroy)(weft_program*);
} weft_backend;

/* The one symbol. `abi_version` is the one that Weft speaks; NULL where the library cannot. The
 * table lives as long as the library. */
WEFT_EXPORT const weft_backend* weft_backend_entry(uint32_t abi_version);

#ifdef __cplusplus
}
#endif

#endif
