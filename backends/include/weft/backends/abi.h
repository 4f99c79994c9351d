/* The ABI between Weft and a backend in a shared library: plain C, independent of all other headers
 * of Weft.
 *
 * A library exports one function, weft_backend_entry(), which returns a table of functions. They
 * are called in this order:
 *
 *   entry -> device_open -> buffer_create, queue_create
 *                        -> supports                    any number of times, while plans are made
 *                        -> upload                      weights, once
 *                        -> prepare                     once per node, when its tensors have memory
 *                        -> run, upload, download       every step; nothing is created any more
 *   program_destroy, buffer_destroy; device and library stay open until the process ends
 *
 * Structs that Weft fills begin with their size: a library reads only members within that size.
 * Structs that a library fills are zeroed before the call, and their size is set by Weft. New
 * members are added at the end, and 0 means the behaviour of a library that does not know them.
 * Any other change, and any change of an op's inputs, increments WEFT_ABI_VERSION.
 *
 * Threads: any number of threads may call supports() at the same time. All other calls for a device
 * come one at a time, from any thread. The exception is run() of a device with
 * WEFT_DEVICE_HOST_MEMORY: several threads may run different programs at the same time.
 */
#ifndef WEFT_BACKENDS_ABI_H
#define WEFT_BACKENDS_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_ABI_VERSION 3u
#define WEFT_ABI_ENTRY "weft_backend_entry"
#define WEFT_MAX_RANK 4

#if defined(_WIN32)
#define WEFT_EXPORT __declspec(dllexport)
#else
#define WEFT_EXPORT __attribute__((visibility("default")))
#endif

/* What functions return. For errors, last_error() has the details. */
typedef int32_t weft_status;
enum {
  WEFT_OK = 0,
  WEFT_UNSUPPORTED = 1,   /* not an error: supports() declines the node */
  WEFT_INVALID = 2,       /* an invalid argument */
  WEFT_OUT_OF_MEMORY = 3, /* the device is out of memory */
  WEFT_FAILED = 4,        /* this call failed; the next one may succeed */
  WEFT_DEVICE_LOST = 5    /* all later calls for this device will fail */
};

/* Opaque: only the library knows their contents. */
typedef struct weft_device weft_device;
typedef struct weft_buffer weft_buffer;   /* memory of a device */
typedef struct weft_queue weft_queue;     /* work of a device, done in the order of submission */
typedef struct weft_event weft_event;     /* a point in a queue */
typedef struct weft_program weft_program; /* a prepared node */

enum { /* weft_device_info.flags */
       /* The device computes in the host's memory: tensors have `data`, and run() returns when the
        * work is done. There are no buffers, queues or copies; their functions may be NULL. */
       WEFT_DEVICE_HOST_MEMORY = 1u << 0,
       /* upload() and run() may return before the work is done. */
       WEFT_DEVICE_ASYNC = 1u << 1
};

typedef struct weft_device_info {
  uint32_t struct_size;
  uint32_t flags;
  char name[64];         /* "NVIDIA H100" */
  char description[192]; /* driver, version and other details that identify the machine */
  int64_t memory_bytes;  /* 0: unknown */
} weft_device_info;

enum {                      /* weft_tensor.kind */
       WEFT_ABSENT = 0,     /* an optional input that the node does not have */
       WEFT_ACTIVATION = 1, /* computed in every step */
       WEFT_WEIGHT = 2,     /* never changes after its upload */
       WEFT_STATE = 3       /* lives as long as the session: key and value caches, recurrent
                             * states. The only kind of input that a node may write: cache_write
                             * writes its input 0, recurrent ops write rows of their state */
};

/* Rows of contiguous elements, row-major. The offset of element (r, c) of a tensor of rank >= 2 is
 * r * row_stride bytes plus the bytes of c elements; c counts over all dimensions but the first.
 * Quantized rows consist of whole blocks of block_elems elements in block_bytes bytes, in the
 * layout of GGUF. */
typedef struct weft_tensor {
  uint32_t struct_size;
  uint32_t kind;
  const char* type; /* "F32", "F16", "I32", "Q8_0", "Q4_K", ...: as in GGUF */
  int32_t block_elems, block_bytes;
  int32_t rank;
  int32_t varies;              /* 1: dims[0] is an upper bound; run() has the actual extent */
  int64_t dims[WEFT_MAX_RANK]; /* slowest first */
  int64_t row_stride;          /* bytes */
  /* Set in prepare(): the address in the host's memory, or `offset` within `buffer`. */
  void* data;
  weft_buffer* buffer;
  int64_t offset;
} weft_tensor;

enum { WEFT_ATTR_INTEGER = 1, WEFT_ATTR_NUMBER = 2, WEFT_ATTR_TEXT = 3 };
typedef struct weft_attr {
  const char* name; /* "eps", "scale", "pairs": the fields of the op's attributes */
  uint32_t kind;    /* whole numbers are WEFT_ATTR_INTEGER; bools are 0 or 1 */
  int64_t integer;  /* set for both kinds of numbers, truncated towards zero */
  double number;    /* set for both kinds of numbers */
  const char* text; /* NULL unless the kind is WEFT_ATTR_TEXT */
} weft_attr;

/* One node of a graph. weft/ops/FAMILY/OP.h documents what each op computes, its inputs and its
 * attributes; those headers are not part of this ABI. */
typedef struct weft_node {
  uint32_t struct_size;
  uint32_t n_inputs;
  uint32_t n_attrs;
  const char* op;   /* "linear" */
  const char* path; /* "blk.3.ffn_down" */
  const weft_tensor* const* inputs;
  const weft_tensor* output; /* for an op that writes a state: the state, also inputs[0] */
  const weft_attr* attrs;
  /* Set in prepare(), used by run(): at least weft_support.scratch_bytes of host memory, or of the
   * device's. */
  void* scratch;
  weft_buffer* scratch_buffer;
  int64_t scratch_offset;
} weft_node;

/* Filled by supports() when it returns WEFT_OK. */
typedef struct weft_support {
  uint32_t struct_size;
  /* Only with WEFT_DEVICE_HOST_MEMORY: 1 if run() can compute any region of the output while other
   * threads compute other regions of it with other programs. */
  uint32_t splits;
  int64_t granule;       /* preferred multiple of columns in a region; 0: any */
  int64_t scratch_bytes; /* working memory of run(); nodes that run one by one share it */
  char kernel[48];       /* the name in plans and profiles: "linear q4_k tile"; empty: the op */
} weft_support;

/* Elements [col0, col1) of rows [row0, row1). */
typedef struct weft_region {
  int64_t row0, row1, col0, col1;
} weft_region;

typedef struct weft_run {
  uint32_t struct_size;
  uint32_t n_inputs;
  const int64_t* input_extents; /* dims[0] of every input in this step; 0 for absent ones */
  int64_t output_extent;        /* dims[0] of the output in this step */
  weft_region region;           /* what to compute: all of the output, unless `splits` is 1 */
} weft_run;

/* `n_rows` runs of `row_bytes` bytes each, with a stride on either side. */
typedef struct weft_copy {
  uint32_t struct_size;
  uint32_t reserved;
  int64_t n_rows, row_bytes;
  weft_buffer* buffer;
  int64_t offset, stride; /* in the buffer */
  void* host;             /* upload() only reads from it */
  int64_t host_stride;
} weft_copy;

typedef struct weft_backend {
  uint32_t struct_size;
  uint32_t abi_version;    /* WEFT_ABI_VERSION of the header it was built with */
  const char* name;        /* "opencl", for --backend and --route; letters, digits, _ and - */
  const char* version;     /* of the backend */
  const char* description; /* one line */

  /* Why the last call on this thread failed: one line without a period at the end. Valid until the
   * next call. */
  const char* (*last_error)(void);

  int32_t (*n_devices)(void); /* 0 if this machine has no usable device */
  weft_status (*device_info)(int32_t index, weft_device_info* info);
  weft_status (*device_open)(int32_t index, weft_device** device);

  /* Whether the device can run a node. Decided from types, shapes and attributes: tensors have no
   * memory yet. Must always give the same answer. */
  weft_status (*supports)(weft_device*, const weft_node*, weft_support* support);

  /* The buffer's contents are undefined. */
  weft_status (*buffer_create)(weft_device*, int64_t n_bytes, weft_buffer** buffer);
  void (*buffer_destroy)(weft_buffer*);

  weft_status (*queue_create)(weft_device*, weft_queue** queue);
  void (*queue_destroy)(weft_queue*);
  weft_status (*queue_finish)(weft_queue*); /* waits until all its work is done */
  /* Events mark points in queues: for waiting for one piece of work, or for letting queues wait for
   * each other. May be NULL; then Weft waits for whole queues. */
  weft_status (*event_record)(weft_queue*, weft_event** event);
  weft_status (*event_wait)(weft_event*);              /* the host waits */
  weft_status (*queue_wait)(weft_queue*, weft_event*); /* the queue waits */
  void (*event_destroy)(weft_event*);

  /* When upload() returns, the host may change its memory. When download() returns, the bytes have
   * arrived. Both are ordered with the other work of the queue. */
  weft_status (*upload)(weft_queue*, const weft_copy*);
  weft_status (*download)(weft_queue*, const weft_copy*);

  /* Compiles a node for the memory that its tensors have. All allocation and code generation
   * belongs here. `queue` is NULL for host memory. */
  weft_status (*prepare)(weft_device*, weft_queue*, const weft_node*, weft_program** program);
  weft_status (*run)(weft_program*, const weft_run*);
  void (*program_destroy)(weft_program*);
} weft_backend;

/* The only exported symbol. `abi_version` is Weft's; returns NULL if the library does not support
 * it. The table lives as long as the library. */
WEFT_EXPORT const weft_backend* weft_backend_entry(uint32_t abi_version);

#ifdef __cplusplus
}
#endif

#endif
