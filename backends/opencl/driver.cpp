// The device, its memory and its queue.

#include "driver.h"

#include <cstdio>
#include <new>
#include <vector>

#include "kernels.h"

namespace opencl {
namespace {

thread_local std::string error_text;

const char* last_error() {
  return error_text.c_str();
}

const std::vector<cl_device_id>& all_devices() {
  static const std::vector<cl_device_id> all = [] {
    std::vector<cl_device_id> devices;
    cl_uint n = 0;
    if (clGetPlatformIDs(0, nullptr, &n) != CL_SUCCESS) n = 0;
    std::vector<cl_platform_id> platforms(n);
    if (n > 0) clGetPlatformIDs(n, platforms.data(), nullptr);
    for (const cl_platform_id platform : platforms) {
      cl_uint count = 0;
      if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS) continue;
      std::vector<cl_device_id> here(count);
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, here.data(), nullptr);
      devices.insert(devices.end(), here.begin(), here.end());
    }
    return devices;
  }();
  return all;
}

int32_t n_devices() {
  return static_cast<int32_t>(all_devices().size());
}

std::string text_of(cl_device_id device, cl_device_info what) {
  std::size_t bytes = 0;
  if (clGetDeviceInfo(device, what, 0, nullptr, &bytes) != CL_SUCCESS || bytes == 0) return "";
  std::string text(bytes, '\0');
  if (clGetDeviceInfo(device, what, bytes, text.data(), nullptr) != CL_SUCCESS) return "";
  text.resize(bytes - 1);  // without the closing null
  return text;
}

weft_status device_info(int32_t index, weft_device_info* info) {
  if (index < 0 || index >= n_devices()) return fail(WEFT_INVALID, "no such device");
  const cl_device_id device = all_devices()[static_cast<std::size_t>(index)];
  cl_ulong bytes = 0;
  clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof bytes, &bytes, nullptr);
  info->flags = WEFT_DEVICE_ASYNC;
  info->memory_bytes = static_cast<int64_t>(bytes);
  std::snprintf(info->name, sizeof info->name, "%s", text_of(device, CL_DEVICE_NAME).c_str());
  std::snprintf(info->description, sizeof info->description, "%s, driver %s",
                text_of(device, CL_DEVICE_VERSION).c_str(),
                text_of(device, CL_DRIVER_VERSION).c_str());
  return WEFT_OK;
}

weft_status device_open(int32_t index, weft_device** device) {
  if (index < 0 || index >= n_devices()) return fail(WEFT_INVALID, "no such device");
  auto* d = new (std::nothrow) weft_device;
  if (!d) return fail(WEFT_OUT_OF_MEMORY, "no memory");
  d->id = all_devices()[static_cast<std::size_t>(index)];
  cl_int error = CL_SUCCESS;
  d->context = clCreateContext(nullptr, 1, &d->id, nullptr, nullptr, &error);
  if (error != CL_SUCCESS) {
    delete d;
    return result(error, "clCreateContext");
  }
  *device = d;
  return WEFT_OK;
}

weft_status buffer_create(weft_device* device, int64_t n_bytes, weft_buffer** buffer) {
  cl_int error = CL_SUCCESS;
  const cl_mem mem = clCreateBuffer(device->context, CL_MEM_READ_WRITE,
                                    static_cast<std::size_t>(n_bytes), nullptr, &error);
  if (error != CL_SUCCESS) {
    result(error, "clCreateBuffer");
    return WEFT_OUT_OF_MEMORY;
  }
  *buffer = new weft_buffer{mem};
  return WEFT_OK;
}
void buffer_destroy(weft_buffer* buffer) {
  clReleaseMemObject(buffer->mem);
  delete buffer;
}

weft_status queue_create(weft_device* device, weft_queue** queue) {
  cl_int error = CL_SUCCESS;
  const cl_command_queue made = clCreateCommandQueue(device->context, device->id, 0, &error);
  if (error != CL_SUCCESS) return result(error, "clCreateCommandQueue");
  *queue = new weft_queue{made};
  return WEFT_OK;
}
void queue_destroy(weft_queue* queue) {
  clReleaseCommandQueue(queue->queue);
  delete queue;
}
weft_status queue_finish(weft_queue* queue) {
  return result(clFinish(queue->queue), "clFinish");
}

weft_status event_record(weft_queue* queue, weft_event** event) {
  cl_event made = nullptr;
  const cl_int error = clEnqueueMarkerWithWaitList(queue->queue, 0, nullptr, &made);
  if (error != CL_SUCCESS) return result(error, "clEnqueueMarkerWithWaitList");
  *event = new weft_event{made};
  return WEFT_OK;
}
weft_status event_wait(weft_event* event) {
  return result(clWaitForEvents(1, &event->event), "clWaitForEvents");
}
weft_status queue_wait(weft_queue* queue, weft_event* event) {
  return result(clEnqueueBarrierWithWaitList(queue->queue, 1, &event->event, nullptr),
                "clEnqueueBarrierWithWaitList");
}
void event_destroy(weft_event* event) {
  clReleaseEvent(event->event);
  delete event;
}

// Rows before the failed one may still be in transfer to or from host memory.
weft_status broken_off(weft_queue* queue, cl_int error, const char* what) {
  clFinish(queue->queue);
  return result(error, what);
}
// Waiting for the last row suffices: the queue is in order.
weft_status upload(weft_queue* queue, const weft_copy* c) {
  for (int64_t r = 0; r < c->n_rows && c->row_bytes > 0; ++r) {
    const cl_int error = clEnqueueWriteBuffer(
        queue->queue, c->buffer->mem, r + 1 == c->n_rows,
        static_cast<std::size_t>(c->offset + r * c->stride), static_cast<std::size_t>(c->row_bytes),
        static_cast<const char*>(c->host) + r * c->host_stride, 0, nullptr, nullptr);
    if (error != CL_SUCCESS) return broken_off(queue, error, "clEnqueueWriteBuffer");
  }
  return WEFT_OK;
}
weft_status download(weft_queue* queue, const weft_copy* c) {
  for (int64_t r = 0; r < c->n_rows && c->row_bytes > 0; ++r) {
    const cl_int error = clEnqueueReadBuffer(
        queue->queue, c->buffer->mem, r + 1 == c->n_rows,
        static_cast<std::size_t>(c->offset + r * c->stride), static_cast<std::size_t>(c->row_bytes),
        static_cast<char*>(c->host) + r * c->host_stride, 0, nullptr, nullptr);
    if (error != CL_SUCCESS) return broken_off(queue, error, "clEnqueueReadBuffer");
  }
  return WEFT_OK;
}

}  // namespace

weft_status fail(weft_status status, std::string text) {
  error_text = std::move(text);
  return status;
}

weft_status result(cl_int error, const char* what) {
  if (error == CL_SUCCESS) return WEFT_OK;
  const bool lost = error == CL_DEVICE_NOT_AVAILABLE;
  return fail(lost ? WEFT_DEVICE_LOST : WEFT_FAILED,
              std::string(what) + " gives error " + std::to_string(error));
}

weft_status program_of(weft_device& device, const std::string& format, cl_program& program) {
  const auto found = device.programs.find(format);
  if (found != device.programs.end()) {
    program = found->second;
    return WEFT_OK;
  }
  cl_int error = CL_SUCCESS;
  const char* source = kKernels;
  program = clCreateProgramWithSource(device.context, 1, &source, nullptr, &error);
  if (error != CL_SUCCESS) return result(error, "clCreateProgramWithSource");
  const std::string options =
      "-cl-std=CL1.2" + (format.empty() ? std::string() : " -DWITH_FORMAT=" + format);
  error = clBuildProgram(program, 1, &device.id, options.c_str(), nullptr, nullptr);
  if (error != CL_SUCCESS) {
    std::string log(2000, '\0');
    clGetProgramBuildInfo(program, device.id, CL_PROGRAM_BUILD_LOG, log.size() - 1, log.data(),
                          nullptr);
    clReleaseProgram(program);
    log.resize(log.find('\0'));
    return fail(WEFT_FAILED, "clBuildProgram gives error " + std::to_string(error) + ": " + log);
  }
  device.programs.emplace(format, program);
  return WEFT_OK;
}

}  // namespace opencl

extern "C" WEFT_EXPORT const weft_backend* weft_backend_entry(uint32_t abi_version) {
  using namespace opencl;
  static const weft_backend table = [] {
    weft_backend t = {};
    t.struct_size = sizeof t;
    t.abi_version = WEFT_ABI_VERSION;
    t.name = "opencl";
    t.version = "1";
    t.description = "devices of OpenCL 1.2";
    t.last_error = last_error;
    t.n_devices = n_devices;
    t.device_info = device_info;
    t.device_open = device_open;
    t.supports = supports;
    t.buffer_create = buffer_create;
    t.buffer_destroy = buffer_destroy;
    t.queue_create = queue_create;
    t.queue_destroy = queue_destroy;
    t.queue_finish = queue_finish;
    t.event_record = event_record;
    t.event_wait = event_wait;
    t.queue_wait = queue_wait;
    t.event_destroy = event_destroy;
    t.upload = upload;
    t.download = download;
    t.prepare = prepare;
    t.run = run;
    t.program_destroy = program_destroy;
    return t;
  }();
  return abi_version == WEFT_ABI_VERSION ? &table : nullptr;
}
