#include "replay/host_copies.h"

#include "weft/backends/device.h"

namespace weft::scheduler {

HostCopies::HostCopies(const KernelCall& call, bool wanted)
    : call_(call), wanted_(wanted), args_(call.args) {
  if (!wanted) return;
  in_.assign(call.args.in.begin(), call.args.in.end());
  memories_.resize(in_.size() + 1);
  args_.in = in_;
  // Memory for the output's view until the output is written.
  fetch(call.args.out, args_.out, memories_.back());
}

void HostCopies::fetch(const View& from, View& to, std::vector<std::byte>& memory) {
  if (!from || !call_.device->owns(from.data)) return;
  const std::int64_t row_bytes = from.dtype.bytes(from.cols());
  memory.resize(static_cast<std::size_t>(from.rows() * row_bytes));
  to.data = memory.data();
  to.row_stride = row_bytes;
  call_.device->download({.n_rows = from.rows(),
                          .row_bytes = row_bytes,
                          .device = from.data,
                          .device_stride = from.row_stride,
                          .host = memory.data(),
                          .host_stride = row_bytes});
}

void HostCopies::fetch_inputs() {
  for (std::size_t i = 0; i < in_.size(); ++i) fetch(call_.args.in[i], in_[i], memories_[i]);
}

void HostCopies::fetch_output() {
  if (!wanted_) return;
  fetch(call_.args.out, args_.out, memories_.back());
  if (call_.args.op->updates < 0) return;
  const auto i = static_cast<std::size_t>(call_.args.op->updates);
  fetch(call_.args.in[i], in_[i], memories_[i]);
}

}  // namespace weft::scheduler
