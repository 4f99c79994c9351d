#include "reads.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/run/read_choices.h"

namespace weft::bench {
namespace {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kBlocks[] = {256 * kKiB, 1024 * kKiB, 4096 * kKiB};
constexpr int kDepths[] = {4, 8, 16};
constexpr double kClearGainOfReads = 1.1;  // disks vary more than processors

}  // namespace

MeasuredReads measure_reads(const std::string& path, double seconds) {
  const run::ReadChoices standard;
  MeasuredReads measured;
  measured.speeds.push_back({.depth = standard.depth, .block = standard.block});
  for (const std::int64_t block : kBlocks) {
    for (const int depth : kDepths)
      if (block != standard.block || depth != standard.depth)
        measured.speeds.push_back({.depth = depth, .block = block});
  }
  const std::int64_t bytes = readable_bytes(path);
  std::erase_if(measured.speeds, [&](const ReadSpeed& s) { return s.block > bytes; });
  if (measured.speeds.empty())
    fail<ValueError>("{}: has {} bytes, too few to measure reads", path, bytes);
  const double each = seconds / static_cast<double>(measured.speeds.size());
  for (ReadSpeed& speed : measured.speeds) speed = measure_read_speed(path, speed, each);
  measured.reader = measured.speeds.front().reader;
  const auto fastest = std::ranges::max_element(measured.speeds, {}, &ReadSpeed::bytes_per_second);
  const ReadSpeed& first = measured.speeds.front();
  const bool clear = fastest->bytes_per_second > kClearGainOfReads * first.bytes_per_second;
  measured.best = clear ? *fastest : first;
  return measured;
}

TunedValues best_values(const MeasuredReads& measured) {
  const double gain = measured.best.bytes_per_second / measured.speeds.front().bytes_per_second;
  return run::to_values(
      {.depth = measured.best.depth,
       .block = measured.best.block,
       .bytes_per_second = static_cast<std::int64_t>(measured.best.bytes_per_second)},
      gain);
}

}  // namespace weft::bench
