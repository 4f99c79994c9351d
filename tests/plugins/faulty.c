/* The skeleton with something wrong. One source, several libraries:
 *   WEFT_FAULT_VERSION  says another version of the ABI      WEFT_FAULT_SILENT  returns no table
 *   WEFT_FAULT_TABLE    has a table that is too short        WEFT_FAULT_LACKS   has no run()
 * none of them: the backend "faulty", which fails where the environment says so while it runs:
 *   WEFT_FAULT = open, supports, buffer, prepare, upload, run or lost
 *   WEFT_FAULT_AFTER = how many such calls succeed before one fails */
#define weft_backend_entry skeleton_entry
#include "../../examples/backend_skeleton/skeleton.c"
#undef weft_backend_entry

static int is_due(const char* what) {
  static int calls;
  static char last[16];
  const char* fault = getenv("WEFT_FAULT");
  const char* after = getenv("WEFT_FAULT_AFTER");
  if (!fault || strcmp(fault, what) != 0) return 0;
  if (strcmp(last, what) != 0) calls = 0;
  snprintf(last, sizeof last, "%s", what);
  if (calls++ != (after ? atoi(after) : 0)) return 0;
  last[0] = 0; /* the next fault counts afresh */
  return 1;
}

static weft_status faulty_open(int32_t index, weft_device** device) {
  return is_due("open") ? fail(WEFT_FAILED, "open", "no driver") : device_open(index, device);
}
static weft_status faulty_supports(weft_device* d, const weft_node* node, weft_support* s) {
  return is_due("supports") ? fail(WEFT_INVALID, "supports", "no idea") : supports(d, node, s);
}
static weft_status faulty_buffer(weft_device* d, int64_t n_bytes, weft_buffer** buffer) {
  return is_due("buffer") ? fail(WEFT_OUT_OF_MEMORY, "buffer", "full")
                          : buffer_create(d, n_bytes, buffer);
}
static weft_status faulty_prepare(weft_device* d, weft_queue* q, const weft_node* node,
                                  weft_program** p) {
  return is_due("prepare") ? fail(WEFT_FAILED, "prepare", "no compiler") : prepare(d, q, node, p);
}
static weft_status faulty_upload(weft_queue* q, const weft_copy* c) {
  return is_due("upload") ? fail(WEFT_FAILED, "upload", "cable") : upload(q, c);
}
static weft_status faulty_run(weft_program* p, const weft_run* r) {
  if (is_due("lost")) return fail(WEFT_DEVICE_LOST, "run", "fell off the bus");
  return is_due("run") ? fail(WEFT_FAILED, "run", "too hot") : run(p, r);
}

#ifndef WEFT_FAULT_NO_ENTRY
WEFT_EXPORT const weft_backend* weft_backend_entry(uint32_t abi_version) {
  static weft_backend table;
  table = *skeleton_entry(abi_version);
  table.name = "faulty";
  table.device_open = faulty_open;
  table.supports = faulty_supports;
  table.buffer_create = faulty_buffer;
  table.prepare = faulty_prepare;
  table.upload = faulty_upload;
  table.run = faulty_run;
#if defined(WEFT_FAULT_VERSION)
  table.abi_version = WEFT_ABI_VERSION + 6;
#elif defined(WEFT_FAULT_SILENT)
  return 0;
#elif defined(WEFT_FAULT_TABLE)
  table.struct_size = 24;
#elif defined(WEFT_FAULT_LACKS)
  table.run = 0;
#endif
  return &table;
}
#endif
