#include "reports/kept_limits.h"

#include <chrono>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/backends/tunables.h"
#include "weft/base/folders.h"
#include "weft/base/human_numbers.h"
#include "weft/base/read_file.h"
#include "weft/base/tuned_values.h"
#include "weft/files/output_file.h"
#include "weft/scheduler/budget.h"

namespace weft::tools {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kVersion = 2;  // version of the file and of the measurement

bench::ArithmeticLimit arithmetic_of(const Json& json, int threads) {
  return {.multiply_adds_per_second = json.at("multiply_adds_per_second").get<double>(),
          .threads = threads,
          .instruction = json.at("instruction").get<std::string>()};
}

MachineLimits limits_of(const Json& json) {
  const int threads = json.at("threads").get<int>();
  const Json& reads = json.at("reads");
  return {.threads = threads,
          .reads = {.bytes_per_second = reads.at("bytes_per_second").get<double>(),
                    .threads = threads,
                    .bytes = reads.at("buffer_bytes").get<std::int64_t>(),
                    .cache_bytes = reads.at("cache_bytes").get<std::int64_t>(),
                    .how = reads.at("how").get<std::string>()},
          .int8 = arithmetic_of(json.at("int8"), threads),
          .f32 = arithmetic_of(json.at("f32"), threads)};
}

std::string about_cache(const bench::ReadLimit& reads) {
  if (reads.cache_bytes == 0) return "the last-level cache's size is unknown";
  return fmt::format("{} of last-level cache{}", human_bytes(reads.cache_bytes),
                     reads.measures_memory() ? "" : ": not the speed of memory");
}

// Empty if the home folder is not known.
fs::path cache_path() {
  const fs::path folder = cache_folder();
  return folder.empty() ? folder : folder / "limits.json";
}

std::int64_t now_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// An empty list of machines if the file is missing, damaged or of another version.
Json read_kept() {
  const std::string text = try_read_file(cache_path().string()).value_or("");
  const Json json = Json::parse(text, nullptr, false);
  const bool ours = json.is_object() && json.value("version", 0) == kVersion &&
                    json.contains("machines") && json["machines"].is_object();
  return ours ? json : Json{{"version", kVersion}, {"machines", Json::object()}};
}

void keep(const std::string& key, const MachineLimits& limits) {
  const fs::path path = cache_path();
  if (path.empty()) return;
  try {
    std::error_code ignored;  // the error of the file says more
    make_private_folders(path.parent_path().string(), ignored);
    Json json = read_kept();
    json["machines"][key] = {{"measured", now_s()}, {"limits", Json::parse(to_json(limits))}};
    OutputFile file(path.string());
    file.write(json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n');
    file.commit();
  } catch (const std::exception&) {
    // Measured again next time.
  }
}

}  // namespace

std::string to_text(const std::vector<MachineLimits>& limits) {
  std::string text;
  for (const MachineLimits& l : limits) {
    const std::string threads = fmt::format("{} thread{}", l.threads, l.threads == 1 ? "" : "s");
    const auto arithmetic = [&](const char* name, const bench::ArithmeticLimit& limit) {
      if (limit.multiply_adds_per_second == 0) return;
      text += fmt::format("limit    {}: {:.1f} G multiply-adds/s {} ({})\n", threads,
                          limit.multiply_adds_per_second / 1e9, name, limit.instruction);
    };
    if (l.reads.bytes_per_second > 0) {
      text += fmt::format("limit    {}: {:.1f} GB/s read ({}; {} buffer, {})\n", threads,
                          l.reads.bytes_per_second / 1e9, l.reads.how, human_bytes(l.reads.bytes),
                          about_cache(l.reads));
    }
    arithmetic("int8", l.int8);
    arithmetic("f32", l.f32);
  }
  return text;
}

MachineLimits kept_limits(int threads, bool again, std::int64_t& age_s) {
  const std::string key =
      fmt::format("{}, {}, {} threads", processor_name(), cpu_backend_isa(), threads);
  if (!again) {
    try {
      const Json kept = read_kept().at("machines").at(key);
      MachineLimits limits = limits_of(kept.at("limits"));
      age_s = std::max<std::int64_t>(0, now_s() - kept.at("measured").get<std::int64_t>());
      if (limits.threads == threads) return limits;
    } catch (const Json::exception&) {
      // There is none, or another program wrote it.
    }
  }
  age_s = 0;
  const MachineLimits limits = bench::measure_limits(threads, default_budget() / 2);
  keep(key, limits);
  return limits;
}

}  // namespace weft::tools
