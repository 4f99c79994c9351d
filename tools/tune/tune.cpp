#include "tune.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "weft/backends/memory.h"
#include "weft/base/folders.h"
#include "weft/files/output_file.h"
#include "weft/ops/projections/linear.h"
#include "weft/scheduler/best_pass.h"
#include "weft/scheduler/machine_limits.h"
#include "weft/scheduler/passes.h"

#include "one_node.h"

namespace weft::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kRows = 1024, kColumns = 2048;        // shape of the weights
constexpr std::int64_t kPassBytes = std::int64_t{12} << 20;  // per thread
constexpr std::int64_t kMinPool = std::int64_t{32} << 20;    // per thread: more than its caches
constexpr std::int64_t kMaxPool = std::int64_t{256} << 20;   // all threads together
constexpr int kRounds = 4;
// A smaller gain is noise, and the standard value suits most processors.
constexpr double kClearGain = 1.03;

// The memory for the weights of each thread, whose pages exist already.
class Pools {
 public:
  Pools(int threads, std::int64_t max_bytes) {
    const std::int64_t wanted =
        std::min(std::max(2 * last_level_cache(), threads * kMinPool), kMaxPool);
    const std::int64_t each = align_up(std::min(wanted, max_bytes) / threads);
    for (int i = 0; i < threads; ++i) pools_.emplace_back(each);
  }
  std::span<std::byte> operator[](int thread) const {
    return pools_[static_cast<std::size_t>(thread)].bytes();
  }

 private:
  std::vector<Buffer> pools_;
};

class Measurement {
 public:
  Measurement(const TuneOptions& options, const Tunable& tunable, const Pools& pools)
      : options_(options), tunable_(tunable), graph_(graph_of(tunable, cpu_backend(options.isa))) {
    for (int i = 0; i < options.threads; ++i) {
      nodes_.push_back(
          std::make_unique<OneNode>(graph_, cpu_backend(options.isa), std::vector<Counting>()));
    }
    best_pass(
        options.threads, 1, [](int) {},
        [&](int i) { nodes_[static_cast<std::size_t>(i)]->make_cold(pools[i]); });
  }

  MeasuredTunable run() {
    pass(cpu_backend(options_.isa));  // warm-up
    std::vector<std::unique_ptr<const Backend>> backends;
    MeasuredTunable measured{
        .tunable = tunable_, .speeds = {{.value = tunable_.standard}}, .best = {}};
    for (const std::int64_t value : tunable_.others) measured.speeds.push_back({.value = value});
    for (const auto& speed : measured.speeds)
      backends.push_back(
          make_cpu_backend(options_.isa, TunedValues({{tunable_.name, speed.value}})));
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < backends.size(); ++i) {
        double& best = measured.speeds[i].bytes_per_second;
        best = std::max(best, pass(*backends[i]));
      }
    }
    measured.best = best_of_speeds(measured);
    return measured;
  }

 private:
  static Graph graph_of(const Tunable& tunable, const Backend& backend) {
    Graph plain;
    const Tensor x = plain.input("x", {f32, {tunable.n_tokens, kColumns}});
    plain.output("y", linear(x, plain.weight("w", {tunable.weights, {kRows, kColumns}})));
    return optimize(plain, backend, {.resident = true});
  }

  static TunedValue best_of_speeds(const MeasuredTunable& measured) {
    const auto& speeds = measured.speeds;
    const auto fastest =
        std::ranges::max_element(speeds, {}, &MeasuredTunable::Speed::bytes_per_second);
    const double gain = fastest->bytes_per_second / speeds.front().bytes_per_second;
    if (gain < kClearGain) return {measured.tunable.name, measured.tunable.standard, 1};
    return {measured.tunable.name, fastest->value, gain};
  }

  // Bytes per second.
  double pass(const Backend& backend) {
    const std::int64_t bytes = nodes_[0]->streamed_bytes();
    const std::int64_t runs = std::max<std::int64_t>(1, kPassBytes / bytes);
    const double seconds = best_pass(
        options_.threads, 1, [&](int i) { nodes_[static_cast<std::size_t>(i)]->prepare(backend); },
        [&](int i) {
          for (std::int64_t n = 0; n < runs; ++n) nodes_[static_cast<std::size_t>(i)]->run();
        });
    return static_cast<double>(bytes * runs * options_.threads) / seconds;
  }

  const TuneOptions& options_;
  const Tunable& tunable_;
  Graph graph_;
  std::vector<std::unique_ptr<OneNode>> nodes_;
};

}  // namespace

std::vector<MeasuredTunable> measure_choices(const TuneOptions& options) {
  const auto end = Clock::now() + std::chrono::duration<double>(options.seconds);
  const std::vector<Tunable> tunables = cpu_tunables(options.isa);
  std::vector<MeasuredTunable> measured;
  const Pools pools(options.threads, options.max_bytes);
  for (const Tunable& tunable : tunables) {
    if (Clock::now() >= end) break;
    measured.push_back(Measurement(options, tunable, pools).run());
  }
  return measured;
}

TunedValues best_values(const std::vector<MeasuredTunable>& measured) {
  std::vector<TunedValue> values;
  for (const MeasuredTunable& m : measured) values.push_back(m.best);
  return TunedValues(std::move(values));
}

std::string store_values(const TunedValues& values, std::string_view isa) {
  const std::filesystem::path path = tuned_path(isa);
  if (path.empty()) return "";
  std::error_code error;
  make_private_folders(path.parent_path().string(), error);  // the file's error says more
  OutputFile file(path.string());
  file.write(values.to_text(tuned_machine(isa)));
  file.commit();
  return path.string();
}

}  // namespace weft::bench
