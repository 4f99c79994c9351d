/* A backend for Weft to copy and change: a device with memory of its own that runs three ops. Here
 * the device's memory is malloc()'s and its queue does everything at once; each TODO is where a
 * real one talks to its driver. Everything else goes to the cpu backend by itself. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/backends/abi.h>

static _Thread_local char error_text[256];

static weft_status fail(weft_status status, const char* what, const char* why) {
  snprintf(error_text, sizeof error_text, "%s: %s", what, why);
  return status;
}
static const char* last_error(void) {
  return error_text;
}

/* ---- the device, its memory, its queue */

struct weft_device {
  int index;
};
struct weft_buffer {
  char* data;
};
struct weft_queue {
  weft_device* device;
};
static weft_device the_device;
static weft_queue the_queue;

static int32_t n_devices(void) {
  return 1; /* TODO: ask the driver; 0 is a fine answer */
}

static weft_status device_info(int32_t index, weft_device_info* info) {
  if (index != 0) return fail(WEFT_INVALID, "device_info", "there is one device");
  snprintf(info->name, sizeof info->name, "malloc");
  snprintf(info->description, sizeof info->description, "memory of the C library");
  info->flags = 0; /* WEFT_DEVICE_HOST_MEMORY: then neither buffers nor copies are needed */
  info->memory_bytes = 0;
  return WEFT_OK;
}

static weft_status device_open(int32_t index, weft_device** device) {
  the_device.index = index;
  *device = &the_device;
  return WEFT_OK;
}

static weft_status buffer_create(weft_device* device, int64_t n_bytes, weft_buffer** buffer) {
  (void)device;
  *buffer = malloc(sizeof **buffer);
  if (*buffer) (*buffer)->data = malloc((size_t)n_bytes); /* TODO: device memory */
  if (*buffer && (*buffer)->data) return WEFT_OK;
  free(*buffer);
  *buffer = NULL;
  return fail(WEFT_OUT_OF_MEMORY, "buffer_create", "malloc");
}
static void buffer_destroy(weft_buffer* buffer) {
  free(buffer->data);
  free(buffer);
}

static weft_status queue_create(weft_device* device, weft_queue** queue) {
  the_queue.device = device;
  *queue = &the_queue;
  return WEFT_OK;
}
static void queue_destroy(weft_queue* queue) {
  (void)queue;
}
static weft_status queue_finish(weft_queue* queue) {
  return queue ? WEFT_OK : WEFT_INVALID; /* TODO: wait */
}

static weft_status copy(const weft_copy* c, int up) {
  for (int64_t r = 0; r < c->n_rows; ++r) {
    char* here = c->buffer->data + c->offset + r * c->stride;
    char* host = (char*)c->host + r * c->host_stride;
    memcpy(up ? here : host, up ? host : here, (size_t)c->row_bytes);
  }
  return WEFT_OK;
}
static weft_status upload(weft_queue* queue, const weft_copy* c) {
  return (void)queue, copy(c, 1);
}
static weft_status download(weft_queue* queue, const weft_copy* c) {
  return (void)queue, copy(c, 0);
}

/* ---- kernels: one row of the output from the same row of the inputs */

typedef void row_kernel(const weft_program* p, const float* a, const float* b, float* y);

struct weft_program {
  row_kernel* kernel;
  int64_t width, inner; /* elements of a row; of its last dimension */
  double eps;
  const char *a, *b;
  char* y;
  int64_t a_stride, b_stride, y_stride;
  int rows; /* 0: the output is a vector, which is one row */
};

static void add_row(const weft_program* p, const float* a, const float* b, float* y) {
  for (int64_t i = 0; i < p->width; ++i) y[i] = a[i] + b[i];
}
static void mul_row(const weft_program* p, const float* a, const float* b, float* y) {
  for (int64_t i = 0; i < p->width; ++i) y[i] = a[i] * b[i];
}
static void rms_norm_mul_row(const weft_program* p, const float* x, const float* w, float* y) {
  for (int64_t begin = 0; begin < p->width; begin += p->inner) {
    double sum = 0;
    for (int64_t i = 0; i < p->inner; ++i) sum += (double)x[begin + i] * x[begin + i];
    const double scale = 1 / sqrt(sum / (double)p->inner + p->eps);
    for (int64_t i = 0; i < p->inner; ++i) y[begin + i] = (float)(x[begin + i] * scale * w[i]);
  }
}

/* What runs here. The rest is answered with WEFT_UNSUPPORTED. */
static const struct {
  const char* op;
  uint32_t n_inputs;
  int b_is_vector; /* input 1 is [D], the same for all rows; otherwise shaped like the output */
  row_kernel* kernel;
} kernels[] = {
    {"add", 2, 0, add_row},
    {"mul", 2, 0, mul_row},
    {"rms_norm_mul", 2, 1, rms_norm_mul_row},
};

static int is_like(const weft_tensor* t, const weft_tensor* output) {
  if (strcmp(t->type, "F32") != 0 || t->rank != output->rank) return 0;
  return memcmp(t->dims, output->dims, sizeof t->dims) == 0;
}

static int find_kernel(const weft_node* node) {
  const weft_tensor* y = node->output;
  for (int k = 0; k < (int)(sizeof kernels / sizeof kernels[0]); ++k) {
    if (strcmp(node->op, kernels[k].op) != 0 || node->n_inputs != kernels[k].n_inputs) continue;
    if (!is_like(y, y) || !is_like(node->inputs[0], y)) return -1;
    const weft_tensor* b = node->inputs[1];
    if (kernels[k].b_is_vector) return strcmp(b->type, "F32") == 0 && b->rank == 1 ? k : -1;
    return is_like(b, y) ? k : -1;
  }
  return -1;
}

static weft_status supports(weft_device* device, const weft_node* node, weft_support* support) {
  (void)device;
  if (find_kernel(node) < 0) return WEFT_UNSUPPORTED;
  snprintf(support->kernel, sizeof support->kernel, "%s f32", node->op);
  return WEFT_OK;
}

static const char* place(const weft_tensor* t) {
  return t->buffer->data + t->offset;
}

static weft_status prepare(weft_device* device, weft_queue* queue, const weft_node* node,
                           weft_program** program) {
  (void)device, (void)queue; /* TODO: compile; keep the queue for run() */
  const int k = find_kernel(node);
  if (k < 0) return fail(WEFT_INVALID, "prepare", "a node that is not supported");
  weft_program* p = calloc(1, sizeof *p);
  if (!p) return fail(WEFT_OUT_OF_MEMORY, "prepare", "calloc");
  const weft_tensor *y = node->output, *a = node->inputs[0];
  const weft_tensor* b = node->inputs[1];
  p->kernel = kernels[k].kernel, p->rows = y->rank > 1;
  p->width = p->inner = y->dims[y->rank - 1];
  for (int i = 1; i + 1 < y->rank; ++i) p->width *= y->dims[i];
  for (uint32_t i = 0; i < node->n_attrs; ++i)
    if (strcmp(node->attrs[i].name, "eps") == 0) p->eps = node->attrs[i].number;
  p->a = place(a), p->b = place(b), p->y = (char*)place(y);
  p->a_stride = a->row_stride, p->y_stride = y->row_stride;
  p->b_stride = kernels[k].b_is_vector ? 0 : b->row_stride;
  *program = p;
  return WEFT_OK;
}

static weft_status run(weft_program* p, const weft_run* run) {
  const int64_t n_rows = p->rows ? run->output_extent : 1; /* TODO: put it into the queue */
  for (int64_t r = 0; r < n_rows; ++r)
    p->kernel(p, (const float*)(p->a + r * p->a_stride), (const float*)(p->b + r * p->b_stride),
              (float*)(p->y + r * p->y_stride));
  return WEFT_OK;
}
static void program_destroy(weft_program* program) {
  free(program);
}

WEFT_EXPORT const weft_backend* weft_backend_entry(uint32_t abi_version) {
  static const weft_backend table = {.struct_size = sizeof(weft_backend),
                                     .abi_version = WEFT_ABI_VERSION,
                                     .name = "skeleton",
                                     .version = "0.1",
                                     .description = "a template for backends",
                                     .last_error = last_error,
                                     .n_devices = n_devices,
                                     .device_info = device_info,
                                     .device_open = device_open,
                                     .supports = supports,
                                     .buffer_create = buffer_create,
                                     .buffer_destroy = buffer_destroy,
                                     .queue_create = queue_create,
                                     .queue_destroy = queue_destroy,
                                     .queue_finish = queue_finish,
                                     .upload = upload,
                                     .download = download,
                                     .prepare = prepare,
                                     .run = run,
                                     .program_destroy = program_destroy};
  return abi_version == WEFT_ABI_VERSION ? &table : NULL;
}
