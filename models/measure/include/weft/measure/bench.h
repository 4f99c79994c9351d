#pragma once
// How fast a session computes: the measurements of `weft bench`.

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/hash.h"
#include "weft/measure/work.h"
#include "weft/run/ranks.h"
#include "weft/run/session.h"
#include "weft/scheduler/machine_limits.h"

namespace weft::bench {

enum class Phase { prefill, decode, step };
const char* to_string(Phase phase);

// One test: feeds `tokens` tokens to a sequence that already has `depth`. Prefill feeds them as a
// prompt, decode one by one, step all at once.
struct Test {
  Phase phase = Phase::prefill;
  std::int64_t tokens = 0, depth = 0;
};

// Tokens per second of each repetition.
struct Series {
  std::vector<double> rates;

  double median() const;
  double spread() const;  // median distance from the median
  double min() const;
  double max() const;
};

struct Row {
  Test test;
  int workers = 0;
  ReplayKind executor = ReplayKind::alone;  // the one of the plan for most of the tokens
  Series series;
  Work work;                           // work of one repetition
  std::int64_t peak_rss = 0;           // peak of the process so far
  StreamStats stream;                  // in all repetitions, if weights are streamed
  std::vector<double> hit_rates = {};  // the part of the experts in memory, by repetition

  double tokens_per_second() const { return series.median(); }
  double per_token(double amount) const { return amount / static_cast<double>(test.tokens); }
  double per_second(double amount) const { return per_token(amount) * tokens_per_second(); }
  double ns_per_node() const { return 1e9 / per_second(work.nodes); }
  // The part of the time of all lanes in which they waited for the disk.
  double share_of_waits() const;
  // The part of the experts that steps needed that was in memory; 1 without experts.
  double share_of_hits() const { return stream.all_groups().hit_rate(); }
  double disk_bytes_per_token() const {
    return per_token(static_cast<double>(stream.bytes_read) /
                     static_cast<double>(series.rates.size()));
  }
  bool is_quantized() const { return work.of_quantized >= work.of_float; }
};

// Ids spread over the vocabulary, the same in every run. Speed does not depend on the ids, but real
// texts do not repeat a single token either.
std::vector<std::int32_t> some_tokens(std::int64_t first, std::int64_t n, std::int64_t n_vocab);
// The mean of the middle values. REQUIRES: there are some.
double median(std::vector<double> values);
// Truncates sequence 0 to `depth` tokens. If the model cannot resume there, fills it with as many
// random ones instead.
void return_to_depth(Session& session, std::int64_t depth);

// Repetitions feed the same tokens, except to sessions with streamed weights: what was just read
// would be in memory. Runs one warm-up repetition, whose logits go into `hash`, and `repeats`
// measured ones. REQUIRES: repeats >= 1; the tests fit into the session's context, and steps into
// its prefill width. Throws like Session::feed(): CancelledError if `cancel` became true.
std::vector<Row> measure(Session& session, const std::vector<Test>& tests, std::int64_t repeats,
                         Fnv1a64& hash, const std::atomic<bool>* cancel = nullptr);

struct Report {
  std::string model, architecture, backend;
  std::int64_t batch = 0, memory = 0;
  std::uint64_t logits_hash = 0;
  std::vector<MeasuredLink> links;  // between the ranks of a sharded model
  std::vector<Row> rows;
  std::vector<MachineLimits> limits;  // one for each number of workers; empty: not measured

  // The machine's limits for the workers and the arithmetic of a row; 0: not measured.
  double read_limit(const Row& row) const;        // bytes per second
  double arithmetic_limit(const Row& row) const;  // multiply-adds per second
};

// An object with a newline at the end; "rows" has the rates and the work per token of each test.
std::string to_json(const Report& report);

}  // namespace weft::bench
