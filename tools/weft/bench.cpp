#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "weft/graph/error.h"
#include "weft/models/session.h"

#include "bench/bandwidth.h"
#include "common/flags.h"
#include "made_model.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Flags {
  cli::ModelFlags model;
  std::int64_t prompt = 512, predict = 64, repeats = 5;
  bool json = false, no_bandwidth = false;
  std::vector<std::string> make_model;  // shape, type, file
};

// Tokens per second of each repetition.
struct Series {
  std::vector<double> rates;

  double median() const { return middle(rates); }
  // Median distance from the median.
  double spread() const {
    std::vector<double> distances;
    for (const double rate : rates) distances.push_back(std::abs(rate - median()));
    return middle(std::move(distances));
  }
  double min() const { return std::ranges::min(rates); }
  double max() const { return std::ranges::max(rates); }

 private:
  static double middle(std::vector<double> values) {
    std::ranges::sort(values);
    const std::size_t n = values.size();
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
  }
};

struct Result {
  Series prefill, decode;
  std::uint64_t logits_hash = 0xcbf29ce484222325;  // FNV-1a over all logits rows of one repetition

  void hash(std::span<const float> logits) {
    for (const float logit : logits) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &logit, sizeof bits);
      for (int byte = 0; byte < 4; ++byte)
        logits_hash = (logits_hash ^ ((bits >> (8 * byte)) & 0xff)) * 0x100000001b3;
    }
  }
};

// Ids all over the vocabulary, the same in every run: which tokens they are does not matter to the
// speed, but real texts do not repeat one token either.
std::vector<std::int32_t> some_tokens(std::int64_t n, std::int64_t n_vocab) {
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < n; ++i)
    tokens.push_back(static_cast<std::int32_t>((i * 7919 + 17) % n_vocab));
  return tokens;
}

Result measure(Session& session, const Flags& flags) {
  const std::int64_t n_vocab = session.model().facts().n_vocab;
  const auto tokens = some_tokens(flags.prompt + flags.predict, n_vocab);
  const std::span<const std::int32_t> all = tokens;
  const auto n_prompt = static_cast<std::size_t>(flags.prompt);
  Result result;
  for (std::int64_t r = -1; r < flags.repeats; ++r) {  // the first one warms up
    const bool warm = r >= 0;
    session.truncate(0, 0);
    if (n_prompt > 0) {
      const auto start = cli::Clock::now();
      session.feed(0, all.first(n_prompt), &cli::interrupted());
      const double seconds = cli::seconds_since(start);
      if (warm) result.prefill.rates.push_back(static_cast<double>(n_prompt) / seconds);
      if (!warm) result.hash(session.logits());
    }
    double seconds = 0;
    for (std::size_t i = n_prompt; i < all.size(); ++i) {
      const auto start = cli::Clock::now();
      session.feed(0, all.subspan(i, 1), &cli::interrupted());
      seconds += cli::seconds_since(start);
      if (!warm) result.hash(session.logits());
    }
    if (warm && flags.predict > 0)
      result.decode.rates.push_back(static_cast<double>(flags.predict) / seconds);
  }
  return result;
}

void print_text(const Session& session, const Flags& flags, const Result& result,
                const bench::Bandwidth& bandwidth) {
  const auto line = [&](const char* name, std::int64_t n, const Series& series) {
    if (series.rates.empty()) return;
    std::cout << fmt::format(
        "{:<8} {:>5} tokens  {:10.2f} tokens/s  median of {}, +- {:.2f}, {:.2f} to {:.2f}\n", name,
        n, series.median(), series.rates.size(), series.spread(), series.min(), series.max());
  };
  std::cout << fmt::format("{}, {} workers, backend {}, batches of {}\n", flags.model.path,
                           session.options().workers, session.options().backend,
                           session.options().prefill_width);
  line("prefill", flags.prompt, result.prefill);
  line("decode", flags.predict, result.decode);
  if (!result.decode.rates.empty()) {
    const std::int64_t bytes = session.plan(0).cost().bytes_read;
    const double rate = static_cast<double>(bytes) * result.decode.median() / 1e9;
    std::cout << fmt::format("reads    {} a token with a full cache: {:.2f} GB/s",
                             human_bytes(bytes), rate);
    if (bandwidth.gb_per_second > 0) {
      std::cout << fmt::format(
          ", {:.0f} % of the {:.1f} GB/s that {} threads read\n         ({} "
          "buffer, {} of last-level cache{})",
          100 * rate / bandwidth.gb_per_second, bandwidth.gb_per_second, bandwidth.threads,
          human_bytes(bandwidth.bytes), human_bytes(bandwidth.cache_bytes),
          bandwidth.measures_memory() ? "" : ": not the speed of memory");
    }
    std::cout << '\n';
    if (bytes < bandwidth.cache_bytes)
      std::cout << "         What a token reads fits the cache: memory is no limit here.\n";
  }
  std::cout << fmt::format("memory   {}\nlogits   {:016x}\n", human_bytes(session.memory().total()),
                           result.logits_hash);
}

Json json_of(std::int64_t tokens, const Series& series) {
  if (series.rates.empty()) return nullptr;
  return {{"tokens", tokens},    {"median", series.median()}, {"mad", series.spread()},
          {"min", series.min()}, {"max", series.max()},       {"rates", series.rates}};
}

void print_json(const Session& session, const Flags& flags, const Result& result,
                const bench::Bandwidth& bandwidth) {
  const std::int64_t bytes = session.plan(0).cost().bytes_read;
  Json json{{"model", flags.model.path},
            {"workers", session.options().workers},
            {"backend", session.options().backend},
            {"batch", session.options().prefill_width},
            {"unit", "tokens/s"},
            {"prefill", json_of(flags.prompt, result.prefill)},
            {"decode", json_of(flags.predict, result.decode)},
            {"bytes_per_token", bytes},
            {"memory", session.memory().total()},
            {"logits_hash", fmt::format("{:016x}", result.logits_hash)}};
  if (bandwidth.gb_per_second > 0) {
    json["read_bandwidth"] = {{"gb_per_second", bandwidth.gb_per_second},
                              {"threads", bandwidth.threads},
                              {"buffer_bytes", bandwidth.bytes},
                              {"cache_bytes", bandwidth.cache_bytes},
                              {"measures_memory", bandwidth.measures_memory()}};
  }
  std::cout << json.dump(1) << '\n';
}

int make(const std::vector<std::string>& what) {
  const MadeShape shape = parse_shape(what[0]);
  std::cerr << fmt::format("{}: {:.3f}e9 parameters in {}\n", what[2],
                           static_cast<double>(shape.parameters()) / 1e9, what[1]);
  const bool terminal = isatty(STDERR_FILENO);
  cli::catch_interrupts(cli::Interrupts::once);
  make_model(shape, what[1], what[2], [&](double done) {
    if (terminal) std::cerr << fmt::format("\r{:3.0f} %", 100 * done);
    return !cli::interrupted();
  });
  if (terminal) std::cerr << '\n';
  return 0;
}

}  // namespace

int bench(int argc, char** argv) {
  CLI::App app("Measures how fast a model reads a prompt and writes tokens.", "weft bench");
  Flags flags;
  cli::add_model_flags(app, flags.model);
  const auto count = CLI::Range(std::int64_t{0}, std::int64_t{1} << 30);
  app.add_option("-p,--n-prompt", flags.prompt, "tokens of the prompt; 0: none")
      ->check(count)
      ->capture_default_str();
  app.add_option("-n,--n-gen", flags.predict, "tokens to decode, one by one; 0: none")
      ->check(count)
      ->capture_default_str();
  app.add_option("-r,--repetitions", flags.repeats, "after one to warm up")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag("--no-bandwidth", flags.no_bandwidth, "do not measure how fast memory is");
  app.add_flag("--json", flags.json, "print one JSON object");
  app.add_option("--make-model", flags.make_model,
                 "write a model file with random weights and measure nothing")
      ->expected(3)
      ->type_name("SHAPE TYPE FILE");
  app.get_option("--model")->required(false);
  app.footer(
      "Shapes of --make-model, any of them or letters as they show (E and tied may be left "
      "out):\n" +
      known_shapes() +
      "Types: F32, F16, BF16, Q8_0, Q4_0, Q4_K, Q6_K, Q4_K_M\n\n"
      "Examples:\n"
      "  weft bench -m model.gguf\n"
      "  weft bench -m model.gguf -p 2048 -n 128 -r 3 -t 1 --json\n"
      "  weft bench --make-model 1.1b Q4_K_M random.gguf\n"
      "  weft bench --make-model D=512,F=1536,L=8,H=8,G=2,V=32000 Q8_0 random.gguf");
  if (const auto code = parse_flags(app, argc, argv)) return *code;
  if (!flags.make_model.empty()) return make(flags.make_model);
  if (flags.model.path.empty()) fail<cli::UsageError>("-m names no model");

  if (flags.prompt + flags.predict == 0)
    fail<cli::UsageError>("-p 0 and -n 0 leave nothing to measure");
  if (flags.model.session.context == 0) flags.model.session.context = flags.prompt + flags.predict;
  cli::catch_interrupts(cli::Interrupts::once);
  const auto model = Model::load(flags.model.path, {.progress = cli::not_interrupted});
  Session session(model, flags.model.session);
  if (flags.prompt + flags.predict > session.options().context) {
    fail<cli::UsageError>("-p {} and -n {} do not fit a context of {} tokens", flags.prompt,
                          flags.predict, session.options().context);
  }
  const Result result = measure(session, flags);
  bench::Bandwidth bandwidth;
  if (!flags.no_bandwidth) {
    const std::int64_t spare = session.options().mem_budget - session.memory().total();
    bandwidth = bench::measure_read_bandwidth(session.options().workers, spare / 2);
  }
  flags.json ? print_json(session, flags, result, bandwidth)
             : print_text(session, flags, result, bandwidth);
  return 0;
}

}  // namespace weft::tools
