// Decides which nodes this backend runs, and prepares the kernel launches for each.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "driver.h"

// One launch. Only the number of rows varies between runs.
struct Launch {
  cl_kernel kernel = nullptr;
  cl_uint dims = 1;
  std::array<std::size_t, 3> global{1, 1, 1}, local{0, 0, 0};
  int rows_dim = -1;  // dimension of `global` that counts the step's rows, in tiles
  int tile = 1;
  int rows_arg = -1;  // argument with the number of rows
};

struct weft_program {
  cl_command_queue queue = nullptr;
  bool rows_of_input = false;  // the step's rows are those of input 1, not of the output
  std::vector<Launch> launches;
  cl_mem table = nullptr;  // owned by the node
  ~weft_program() {
    for (const Launch& launch : launches) clReleaseKernel(launch.kernel);
    if (table) clReleaseMemObject(table);
  }
};

namespace opencl {
namespace {

using std::string_view;

constexpr int kLanes = 8, kTokens = 8, kNormLanes = 32, kAttentionLanes = 16;
constexpr int64_t kWidestHead = 256, kRun = 32;

int64_t cols(const weft_tensor& t) {
  int64_t n = 1;
  for (int i = t.rank >= 2 ? 1 : 0; i < t.rank; ++i) n *= t.dims[i];
  return n;
}
int64_t rows(const weft_tensor& t) {
  return t.rank >= 2 ? t.dims[0] : 1;
}
bool is_f32(const weft_tensor& t) {
  return string_view(t.type) == "F32";
}
bool is_there(const weft_tensor& t) {
  return t.kind != WEFT_ABSENT;
}
// A single row, or rows whose number may vary.
bool is_plain(const weft_tensor& t) {
  return is_f32(t) && (t.rank >= 2 || !t.varies);
}

// The suffix of a format's kernels, or null if there are none.
const char* format_of(const weft_tensor& w) {
  constexpr const char* kFormats[][2] = {{"F32", "f32"},   {"F16", "f16"},   {"Q8_0", "q8_0"},
                                         {"Q4_0", "q4_0"}, {"Q4_K", "q4_k"}, {"Q6_K", "q6_k"}};
  for (const auto& [type, name] : kFormats) {
    if (string_view(w.type) == type) return w.rank == 2 && w.dims[1] % kRun == 0 ? name : nullptr;
  }
  return nullptr;
}

const weft_attr* attr_of(const weft_node& node, string_view name) {
  for (uint32_t i = 0; i < node.n_attrs; ++i) {
    if (node.attrs[i].name == name) return &node.attrs[i];
  }
  return nullptr;
}
double number(const weft_node& node, string_view name) {
  const weft_attr* attr = attr_of(node, name);
  return attr ? attr->number : 0;
}
bool text_is(const weft_node& node, string_view name, string_view text) {
  const weft_attr* attr = attr_of(node, name);
  return attr && attr->text && attr->text == text;
}

// Sets the arguments of a kernel in order.
class Args {
 public:
  Args(weft_device& device, const std::string& format, const std::string& name) {
    cl_program program = nullptr;
    status_ = program_of(device, format, program);
    if (status_ != WEFT_OK) return;
    cl_int error = CL_SUCCESS;
    launch_.kernel = clCreateKernel(program, name.c_str(), &error);
    status_ = result(error, "clCreateKernel");
  }

  template <class T>
  Args& add(T value) {
    if (status_ == WEFT_OK)
      status_ =
          result(clSetKernelArg(launch_.kernel, next_, sizeof value, &value), "clSetKernelArg");
    ++next_;
    return *this;
  }
  Args& place(const weft_tensor& t, int64_t more = 0) {
    return add(t.buffer->mem).add(static_cast<cl_ulong>(t.offset + more));
  }
  Args& rows_of(const weft_tensor& t, int64_t more = 0) {
    return place(t, more).add(static_cast<cl_ulong>(t.row_stride));
  }
  Args& rows_at(const weft_tensor& t) {
    launch_.rows_arg = static_cast<int>(next_);
    return add(static_cast<cl_int>(rows(t)));
  }
  Args& size(std::array<std::size_t, 3> global, int rows_dim, int tile = 1) {
    launch_.dims = global[2] > 0 ? 3 : 2;
    launch_.global = global;
    launch_.rows_dim = rows_dim;
    launch_.tile = tile;
    return *this;
  }
  Args& groups_of(std::size_t lanes) {
    launch_.local = {lanes, 1, 1};
    launch_.global[0] *= lanes;
    return *this;
  }
  weft_status into(weft_program& program) {
    if (launch_.kernel) program.launches.push_back(launch_);
    return status_;
  }

 private:
  weft_status status_ = WEFT_OK;
  Launch launch_;
  cl_uint next_ = 0;
};

std::size_t count(int64_t n) {
  return static_cast<std::size_t>(n);
}

// ---- per op: whether a node fits, and how to launch it

struct Op {
  const char* name;
  bool (*fits)(const weft_node& node);
  weft_status (*launch)(weft_device& device, const weft_node& node, weft_program& program);
  bool named_by_weight = false;  // the kernel's name includes the format of input 1 (get_rows: 0)
  int64_t (*scratch)(const weft_node& node) = nullptr;
};

const weft_tensor& in(const weft_node& node, std::size_t i) {
  return *node.inputs[i];
}

struct Matmul {
  const weft_tensor *x, *w;
  const weft_tensor *bias = nullptr, *residual = nullptr;
  const weft_tensor* y;
  int64_t col = 0;  // column of the first output
};

weft_status add_matmul(weft_device& device, const Matmul& m, weft_program& program) {
  const bool one = rows(*m.y) == 1;
  const std::string format = format_of(*m.w);
  const weft_tensor& none = *m.w;
  return Args(device, format, "matmul_" + format + (one ? "_1" : "_8"))
      .rows_of(*m.x)
      .rows_of(*m.w)
      .place(m.bias ? *m.bias : none)
      .add(static_cast<cl_int>(m.bias != nullptr))
      .rows_of(m.residual ? *m.residual : none)
      .add(static_cast<cl_int>(m.residual != nullptr))
      .rows_of(*m.y, m.col * 4)
      .add(static_cast<cl_long>(m.w->dims[1] / kRun))
      .rows_at(*m.y)
      .size({count(m.w->dims[0]), 1, 0}, 1, one ? 1 : kTokens)
      .groups_of(kLanes)
      .into(program);
}

bool fits_linear(const weft_node& n) {
  return is_f32(in(n, 0)) && in(n, 0).rank == 2 && format_of(in(n, 1));
}
weft_status launch_linear(weft_device& device, const weft_node& n, weft_program& program) {
  Matmul m{.x = &in(n, 0), .w = &in(n, 1), .y = n.output};
  if (n.n_inputs > 2 && is_there(in(n, 2))) m.bias = &in(n, 2);
  if (n.n_inputs > 3 && is_there(in(n, 3))) m.residual = &in(n, 3);
  return add_matmul(device, m, program);
}

bool fits_concat_of_linears(const weft_node& n) {
  const auto n_weights = static_cast<std::size_t>(number(n, "count"));
  for (std::size_t i = 1; i <= n_weights; ++i) {
    if (!format_of(in(n, i))) return false;
  }
  return is_f32(in(n, 0)) && in(n, 0).rank == 2;
}
weft_status launch_concat_of_linears(weft_device& device, const weft_node& n,
                                     weft_program& program) {
  const auto n_weights = static_cast<std::size_t>(number(n, "count"));
  const bool has_bias = number(n, "has_bias") != 0;
  int64_t col = 0;
  for (std::size_t i = 1; i <= n_weights; ++i) {
    const Matmul m{.x = &in(n, 0),
                   .w = &in(n, i),
                   .bias = has_bias ? &in(n, i + n_weights) : nullptr,
                   .y = n.output,
                   .col = col};
    if (const weft_status status = add_matmul(device, m, program); status != WEFT_OK) return status;
    col += m.w->dims[0];
  }
  return WEFT_OK;
}

enum What : cl_int { kAdd, kMul, kSilu, kScale, kSiluMul, kCopy };

// y = what(a, b), from column `col` of y on.
weft_status add_elements(weft_device& device, What what, const weft_tensor& a, const weft_tensor& b,
                         float factor, const weft_tensor& y, int64_t col, weft_program& program) {
  const bool repeats = b.rank != a.rank || !std::equal(a.dims, a.dims + a.rank, b.dims);
  return Args(device, "", "elements")
      .add(static_cast<cl_int>(what))
      .rows_of(a)
      .place(b)
      .add(static_cast<cl_ulong>(repeats ? 0 : b.row_stride))
      .add(static_cast<cl_long>(cols(b)))
      .add(factor)
      .rows_of(y, col * 4)
      .size({count(cols(a)), count(rows(a)), 0}, rows(a) > 1 || a.varies ? 1 : -1)
      .into(program);
}

bool fits_elements(const weft_node& n) {
  for (uint32_t i = 0; i < n.n_inputs; ++i) {
    if (!is_plain(in(n, i))) return false;
  }
  return is_plain(*n.output);
}
template <What what>
weft_status launch_pair(weft_device& d, const weft_node& n, weft_program& p) {
  return add_elements(d, what, in(n, 0), in(n, 1), 0, *n.output, 0, p);
}
weft_status launch_silu(weft_device& d, const weft_node& n, weft_program& p) {
  return add_elements(d, kSilu, in(n, 0), in(n, 0), 0, *n.output, 0, p);
}
weft_status launch_scale(weft_device& d, const weft_node& n, weft_program& p) {
  const auto factor = static_cast<float>(number(n, "factor"));
  return add_elements(d, kScale, in(n, 0), in(n, 0), factor, *n.output, 0, p);
}
weft_status launch_concat(weft_device& d, const weft_node& n, weft_program& p) {
  int64_t col = 0;
  for (uint32_t i = 0; i < n.n_inputs; ++i) {
    const weft_status status = add_elements(d, kCopy, in(n, i), in(n, i), 0, *n.output, col, p);
    if (status != WEFT_OK) return status;
    col += cols(in(n, i));
  }
  return WEFT_OK;
}

bool fits_gated(const weft_node& n) {
  return fits_linear(n) && format_of(in(n, 2)) && text_is(n, "act", "silu");
}
int64_t gated_scratch(const weft_node& n) {
  return rows(*n.output) * cols(*n.output) * 4;
}
// Writes the gate projection to y and the up projection to scratch memory.
weft_status launch_gated(weft_device& device, const weft_node& n, weft_program& program) {
  weft_tensor up = *n.output;
  up.buffer = n.scratch_buffer;
  up.offset = n.scratch_offset;
  up.row_stride = cols(up) * 4;
  weft_status status = add_matmul(device, {.x = &in(n, 0), .w = &in(n, 1), .y = n.output}, program);
  if (status != WEFT_OK) return status;
  status = add_matmul(device, {.x = &in(n, 0), .w = &in(n, 2), .y = &up}, program);
  if (status != WEFT_OK) return status;
  return add_elements(device, kSiluMul, *n.output, up, 0, *n.output, 0, program);
}

bool fits_get_rows(const weft_node& n) {
  return format_of(in(n, 0)) && in(n, 0).kind != WEFT_STATE;
}
weft_status launch_get_rows(weft_device& device, const weft_node& n, weft_program& program) {
  const weft_tensor& table = in(n, 0);
  const std::string format = format_of(table);
  return Args(device, format, "get_rows_" + format)
      .rows_of(table)
      .add(static_cast<cl_long>(table.dims[0]))
      .place(in(n, 1))
      .rows_of(*n.output)
      .size({count(table.dims[1] / kRun), count(rows(*n.output)), 0}, 1)
      .into(program);
}

bool fits_norm(const weft_node& n) {
  return is_plain(in(n, 0)) && in(n, 0).rank >= 2;
}
weft_status launch_norm(weft_device& device, const weft_node& n, weft_program& program) {
  const weft_tensor &x = in(n, 0), &y = *n.output;
  const bool has_w = n.n_inputs > 1;
  const int64_t width = x.dims[x.rank - 1];
  return Args(device, "", "rms_norm")
      .rows_of(x)
      .place(has_w ? in(n, 1) : x)
      .add(static_cast<cl_int>(has_w))
      .rows_of(y)
      .add(static_cast<cl_long>(width))
      .add(static_cast<cl_float>(number(n, "eps")))
      .size({count(cols(x) / width), count(rows(x)), 0}, 1)
      .groups_of(kNormLanes)
      .into(program);
}

// As rope_angles defines, except for the divisors, which are on the device.
std::vector<float> frequencies(const weft_node& n) {
  const double r = number(n, "n_rot"), base = number(n, "base");
  const double scale = number(n, "freq_scale"), ext = number(n, "ext_factor");
  const auto pair_of = [&](const char* beta) {
    const double turns = number(n, "original_context") / (number(n, beta) * 2 * M_PI);
    return r * std::log(turns) / (2 * std::log(base));
  };
  double low = 0, high = 0;
  if (ext != 0) {
    low = std::max(0.0, std::floor(pair_of("beta_fast")));
    high = std::min(r - 1, std::ceil(pair_of("beta_slow")));
  }
  std::vector<float> all;
  for (int i = 0; i < static_cast<int>(r) / 2; ++i) {
    const double plain = std::pow(base, -2.0 * i / r);
    const double ramp = 1 - std::clamp((i - low) / std::max(0.001, high - low), 0.0, 1.0);
    const double mix = ext != 0 ? ramp * ext : 0;
    all.push_back(static_cast<float>(scale * plain * (1 - mix) + plain * mix));
  }
  return all;
}

bool fits_angles(const weft_node& n) {
  return in(n, 0).rank == 1;
}
weft_status launch_angles(weft_device& device, const weft_node& n, weft_program& program) {
  std::vector<float> table = frequencies(n);
  cl_int error = CL_SUCCESS;
  program.table = clCreateBuffer(device.context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                 table.size() * sizeof(float), table.data(), &error);
  if (error != CL_SUCCESS) return result(error, "clCreateBuffer");
  const double scale = number(n, "freq_scale");
  const double longer = number(n, "ext_factor") != 0 ? 1 + 0.1 * std::log(1 / scale) : 1;
  const bool has_divisors = n.n_inputs > 1 && is_there(in(n, 1));
  return Args(device, "", "rope_angles")
      .place(in(n, 0))
      .add(program.table)
      .place(has_divisors ? in(n, 1) : in(n, 0))
      .add(static_cast<cl_int>(has_divisors))
      .add(static_cast<cl_float>(number(n, "attn_factor") * longer))
      .rows_of(*n.output)
      .size({table.size(), count(rows(*n.output)), 0}, 1)
      .into(program);
}

bool fits_rope(const weft_node& n) {
  return in(n, 0).rank == 3;
}
weft_status launch_rope(weft_device& device, const weft_node& n, weft_program& program) {
  const weft_tensor& x = in(n, 0);
  const int64_t width = x.dims[2], half = in(n, 1).dims[1] / 2;
  return Args(device, "", "rope")
      .rows_of(x)
      .rows_of(in(n, 1))
      .rows_of(*n.output)
      .add(static_cast<cl_long>(width))
      .add(static_cast<cl_long>(half))
      .add(static_cast<cl_int>(text_is(n, "pairs", "adjacent")))
      .size({count(width - half), count(x.dims[1]), count(x.dims[0])}, 2)
      .into(program);
}

bool is_cache(const weft_tensor& t) {
  return is_f32(t) || string_view(t.type) == "F16";
}
bool fits_cache_write(const weft_node& n) {
  return is_cache(in(n, 0));
}
weft_status launch_cache_write(weft_device& device, const weft_node& n, weft_program& program) {
  const weft_tensor& x = in(n, 1);
  program.rows_of_input = true;
  return Args(device, "", "cache_write")
      .rows_of(x)
      .place(in(n, 2))
      .place(*n.output)
      .add(static_cast<cl_long>(x.dims[2]))
      .add(static_cast<cl_int>(!is_f32(*n.output)))
      .size({count(x.dims[2]), count(x.dims[1]), count(x.dims[0])}, 2)
      .into(program);
}

bool fits_attention(const weft_node& n) {
  const weft_tensor &k = in(n, 1), &v = in(n, 2);
  return is_cache(k) && is_cache(v) && v.dims[3] <= kWidestHead;
}
weft_status launch_attention(weft_device& device, const weft_node& n, weft_program& program) {
  const weft_tensor &q = in(n, 0), &k = in(n, 1), &v = in(n, 2);
  return Args(device, "", "attention")
      .rows_of(q)
      .place(k)
      .add(static_cast<cl_int>(!is_f32(k)))
      .place(v)
      .add(static_cast<cl_int>(!is_f32(v)))
      .rows_of(in(n, 3))
      .place(in(n, 4))
      .place(in(n, 5))
      .place(in(n, 6))
      .rows_of(*n.output)
      .add(static_cast<cl_long>(k.dims[3]))
      .add(static_cast<cl_long>(v.dims[3]))
      .add(static_cast<cl_long>(k.dims[1]))
      .add(static_cast<cl_long>(q.dims[1] / k.dims[1]))
      .add(static_cast<cl_float>(number(n, "scale")))
      .size({count(q.dims[1]), count(q.dims[0]), 0}, 1)
      .groups_of(kAttentionLanes)
      .into(program);
}

constexpr Op kOps[] = {
    {"add", fits_elements, launch_pair<kAdd>},
    {"attention", fits_attention, launch_attention},
    {"cache_write", fits_cache_write, launch_cache_write},
    {"concat", fits_elements, launch_concat},
    {"gated_linear", fits_gated, launch_gated, true, gated_scratch},
    {"get_rows", fits_get_rows, launch_get_rows},
    {"linear", fits_linear, launch_linear, true},
    {"linear_concat", fits_concat_of_linears, launch_concat_of_linears, true},
    {"mul", fits_elements, launch_pair<kMul>},
    {"rms_norm", fits_norm, launch_norm},
    {"rms_norm_mul", fits_norm, launch_norm},
    {"rope", fits_rope, launch_rope},
    {"rope_angles", fits_angles, launch_angles},
    {"scale", fits_elements, launch_scale},
    {"silu", fits_elements, launch_silu},
    {"silu_mul", fits_elements, launch_pair<kSiluMul>},
};

const Op* find(const weft_node& node) {
  for (const Op& op : kOps) {
    if (string_view(op.name) == node.op) return op.fits(node) ? &op : nullptr;
  }
  return nullptr;
}

}  // namespace

weft_status supports(weft_device*, const weft_node* node, weft_support* support) {
  const Op* op = find(*node);
  if (!op) return WEFT_UNSUPPORTED;
  const char* format = op->named_by_weight ? format_of(in(*node, 1)) : "";
  std::snprintf(support->kernel, sizeof support->kernel, "%s%s%s", op->name, *format ? " " : "",
                format);
  support->scratch_bytes = op->scratch ? op->scratch(*node) : 0;
  return WEFT_OK;
}

weft_status prepare(weft_device* device, weft_queue* queue, const weft_node* node,
                    weft_program** program) {
  const Op* op = find(*node);
  if (!op) return fail(WEFT_INVALID, "a node that is not supported");
  auto made = std::make_unique<weft_program>();
  made->queue = queue->queue;
  if (const weft_status status = op->launch(*device, *node, *made); status != WEFT_OK)
    return status;
  *program = made.release();
  return WEFT_OK;
}

weft_status run(weft_program* program, const weft_run* run) {
  const int64_t n = program->rows_of_input ? run->input_extents[1] : run->output_extent;
  for (Launch& launch : program->launches) {
    auto global = launch.global;
    if (launch.rows_dim >= 0) {
      global[count(launch.rows_dim)] = count((n + launch.tile - 1) / launch.tile);
    }
    if (launch.rows_arg >= 0) {
      const auto value = static_cast<cl_int>(n);
      clSetKernelArg(launch.kernel, static_cast<cl_uint>(launch.rows_arg), sizeof value, &value);
    }
    const cl_int error = clEnqueueNDRangeKernel(
        program->queue, launch.kernel, launch.dims, nullptr, global.data(),
        launch.local[0] > 0 ? launch.local.data() : nullptr, 0, nullptr, nullptr);
    if (error != CL_SUCCESS) return result(error, "clEnqueueNDRangeKernel");
  }
  return WEFT_OK;
}

void program_destroy(weft_program* program) {
  delete program;
}

}  // namespace opencl
