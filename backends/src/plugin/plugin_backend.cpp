#include "plugin/plugin_backend.h"

#include <algorithm>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/intern.h"
#include "weft/ops/rows/copy.h"

#include "plugin/node_description.h"

namespace weft::plugin {
namespace {

// Error handling of both kinds of kernels.
struct Prepared : PreparedKernel {
  Prepared(PluginDevice* d, KernelFailure& f, std::string w)
      : device(d), failure(f), what(std::move(w)) {}

  void failed(const std::string& text) noexcept {
    const bool lost = device && device->lost();
    failure.raise(text + (lost ? "; the device is lost, the session cannot continue"
                               : "; the step does not count, the session can continue"));
  }

  PluginDevice* device;
  KernelFailure& failure;
  std::string what;  // "linear 'blk.3.ffn_down'"
};

struct PreparedProgram final : Prepared {
  using Prepared::Prepared;
  ~PreparedProgram() override {
    if (!program) return;
    if (device) {
      const std::lock_guard lock(device->mutex());
      table->queue_finish(device->queue());
      table->program_destroy(program);
    } else {
      table->program_destroy(program);
    }
  }

  weft_status call(const KernelArgs& args, const Region& r) {
    for (std::size_t i = 0; i < extents.size(); ++i)
      extents[i] = args.in[i] ? args.in[i].dims[0] : 0;
    run.output_extent = args.out.dims[0];
    run.region = {r.row0, r.row1, r.col0, r.col1};
    return table->run(program, &run);
  }

  const weft_backend* table = nullptr;
  std::string backend;
  weft_program* program = nullptr;
  std::vector<std::int64_t> extents;
  weft_run run{};
};

void run_program(const KernelArgs& args, const Region& region) noexcept {
  auto& p = static_cast<PreparedProgram&>(*args.prepared);
  if (p.failure.raised()) return;
  weft_status status = WEFT_OK;
  if (p.device) {
    const std::lock_guard lock(p.device->mutex());
    status = p.device->lost() ? static_cast<weft_status>(WEFT_DEVICE_LOST) : p.call(args, region);
    p.device->note(status);
  } else {
    status = p.call(args, region);
  }
  if (status != WEFT_OK) p.failed(call_error(*p.table, p.backend, p.what, status));
}

// Rows next to each other are one run of bytes.
DeviceCopy copy_between(const View& device, const View& host) {
  const std::int64_t rows = host.rows(), bytes = host.dtype.bytes(host.cols());
  const bool dense = host.row_stride == bytes && device.row_stride == bytes;
  return {.n_rows = dense ? 1 : rows,
          .row_bytes = dense ? rows * bytes : bytes,
          .device = device.data,
          .device_stride = device.row_stride,
          .host = host.data,
          .host_stride = host.row_stride};
}

void run_copy(const KernelArgs& args, const Region&) noexcept {
  auto& p = static_cast<Prepared&>(*args.prepared);
  if (p.failure.raised()) return;
  try {
    if (args.attrs->as<CopyAttrs>().from == MemoryId::host) {
      p.device->upload(copy_between(args.out, args.in[0]));
    } else {
      p.device->download(copy_between(args.in[0], args.out));
    }
  } catch (const std::exception& error) {
    p.failed(fmt::format("{} ({})", error.what(), p.what));
  }
}

weft_device* open(const weft_backend& table, std::int32_t index, std::string_view name) {
  weft_device* device = nullptr;
  const weft_status status = table.device_open(index, &device);
  if (status != WEFT_OK || !device) fail_call(table, name, "opening its device", status);
  return device;
}

}  // namespace

PluginBackend::PluginBackend(const weft_backend& table, std::int32_t device, std::string name)
    : table_(table), name_(std::move(name)), device_(open(table, device, name_)) {
  weft_device_info info{};
  info.struct_size = sizeof(info);
  const weft_status status = table_.device_info(device, &info);
  if (status != WEFT_OK) fail_call(table_, name_, "asking for its device", status);
  info.name[sizeof(info.name) - 1] = '\0';
  description_ = fmt::format("{}, {}", name_, info.name);
  if ((info.flags & WEFT_DEVICE_HOST_MEMORY) == 0)
    memory_ = std::make_unique<PluginDevice>(table_, device_, name_);
}

std::optional<Kernel> PluginBackend::find(const Graph& graph, const Node& node) const {
  if (!node.op || node.op->storage == Storage::view) return std::nullopt;
  if (node.op->transfers) {
    if (!memory_) return std::nullopt;
    const bool here = node.attrs.as<CopyAttrs>().from == MemoryId::host;
    return Kernel{.row = intern(fmt::format("copy {} {}", here ? "to" : "from", name_)),
                  .run = run_copy,
                  .splits = false,
                  .backend = this,
                  .device = here ? memory_.get() : nullptr,
                  .queued = true};
  }
  const NodeDescription description(graph, node);
  weft_support support{};
  support.struct_size = sizeof(support);
  const weft_status status = table_.supports(device_, &description.node(), &support);
  if (status == WEFT_UNSUPPORTED) return std::nullopt;
  const std::string what = fmt::format("{} '{}'", node.op->name, node.path);
  if (status != WEFT_OK) fail_call(table_, name_, what, status);
  if (support.scratch_bytes < 0 || support.scratch_bytes > (std::int64_t{1} << 40))
    fail<Error>("backend {}: {}: invalid scratch size of {} bytes", name_, what,
                support.scratch_bytes);
  support.kernel[sizeof(support.kernel) - 1] = '\0';
  const std::string_view row = support.kernel[0] ? support.kernel : node.op->name;
  return Kernel{.row = intern(fmt::format("{} {}", row, name_)),
                .run = run_program,
                .scratch_bytes = support.scratch_bytes,
                .granule = std::max<std::int64_t>(1, support.granule),
                .splits = !memory_ && support.splits != 0,
                .backend = this,
                .device = memory_.get(),
                .queued = memory_ != nullptr};
}

std::unique_ptr<PreparedKernel> PluginBackend::prepare(const Graph& graph, const Node& node,
                                                       const KernelArgs& args,
                                                       KernelFailure& failure) const {
  const std::string what = fmt::format("{} '{}'", node.op->name, node.path);
  if (node.op->transfers) return std::make_unique<Prepared>(memory_.get(), failure, what);
  auto p = std::make_unique<PreparedProgram>(memory_.get(), failure, what);
  p->table = &table_;
  p->backend = name_;
  p->extents.resize(node.inputs.size());
  p->run.struct_size = sizeof(weft_run);
  p->run.n_inputs = static_cast<std::uint32_t>(node.inputs.size());
  p->run.input_extents = p->extents.data();
  const NodeDescription description(graph, node, &args, memory_.get());
  std::unique_lock<std::recursive_mutex> lock;
  if (memory_) lock = std::unique_lock(memory_->mutex());
  const weft_status status = table_.prepare(device_, memory_ ? memory_->queue() : nullptr,
                                            &description.node(), &p->program);
  if (memory_) memory_->note(status);
  if (status != WEFT_OK) fail_call(table_, name_, what, status);
  return p;
}

}  // namespace weft::plugin
