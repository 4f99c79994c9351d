#pragma once
// Shared by the two halves of the backend: the ABI's handles, and errors.

#define CL_TARGET_OPENCL_VERSION 120

#include <map>
#include <string>

#include <CL/cl.h>

#include "weft/backends/abi.h"

struct weft_device {
  cl_device_id id = nullptr;
  cl_context context = nullptr;
  std::map<std::string, cl_program> programs;  // by format; "": kernels that read no format
};
struct weft_buffer {
  cl_mem mem = nullptr;
};
struct weft_queue {
  cl_command_queue queue = nullptr;
};
struct weft_event {
  cl_event event = nullptr;
};

namespace opencl {

// Stores the reason for last_error().
weft_status fail(weft_status status, std::string text);
// WEFT_OK, or fail() with `what` and OpenCL's error number.
weft_status result(cl_int error, const char* what);

// The kernels of a format ("": those without one), compiled at the first call.
weft_status program_of(weft_device& device, const std::string& format, cl_program& program);

// supports(), prepare(), run(), program_destroy() of the table.
weft_status supports(weft_device*, const weft_node*, weft_support*);
weft_status prepare(weft_device*, weft_queue*, const weft_node*, weft_program**);
weft_status run(weft_program*, const weft_run*);
void program_destroy(weft_program*);

}  // namespace opencl
