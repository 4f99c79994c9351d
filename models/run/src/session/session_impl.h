#pragma once
// The parts of a session. session_impl.cpp makes them, session.cpp runs steps, session_encoder.cpp
// encodes texts, session_sequences.cpp does what concerns whole sequences.

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/backends/memory.h"
#include "weft/run/session.h"
#include "weft/scheduler/poll.h"
#include "weft/scheduler/workers.h"

#include "memory/cell_rotations.h"
#include "memory/session_memory.h"
#include "memory/token_ids.h"
#include "model/model_impl.h"
#include "model/other_ranks.h"
#include "plan/sampled_weights.h"
#include "session/draft_layer.h"
#include "session/encoded_text.h"
#include "session/lora_scales.h"
#include "session/session_files.h"
#include "session/session_runner.h"
#include "session/session_stream.h"
#include "weights/device_memory.h"

namespace weft {

struct Session::Impl {
  Impl(std::shared_ptr<const Model> m, PlannedModel p);

  std::vector<std::unique_ptr<run::DeviceMemory>> allocate_on_devices() const;
  std::unordered_map<std::string, std::byte*> place_states();
  std::unique_ptr<run::SessionMemory> session_memory(arch::MemoryOf of);
  std::shared_ptr<const run::ResidentWeights> load_weights() const;
  // Bytes of the weights; of a region that was made for a session with more weights, only those
  // that this one reads.
  std::int64_t weight_bytes() const;
  const std::byte* weight(const Node& node) const;
  const run::SessionMemory& memory_of(std::size_t plan) const;  // that its graph reads and writes
  run::Runner& runner(std::size_t plan);
  void check_tokens(std::span<const std::int32_t> tokens) const;
  void check_starts(std::int32_t sequence) const;
  void check_step(std::span<const StepToken> tokens) const;
  void write_scales(run::Runner& r, std::size_t token, std::int32_t sequence);
  void write_ends(run::Runner& r, std::span<const StepToken> tokens);
  std::size_t write_inputs(run::Runner& r, std::span<const StepToken> tokens);
  void check_logits(std::span<const StepToken> tokens, const View& rows) const;
  // With the session's poll and check. REQUIRES: files.check().
  void run(run::Runner& r, RunOptions options);
  std::span<const float> step(std::span<const StepToken> tokens, const std::atomic<bool>* cancel,
                              NodeObserver* observer);
  // All of a step that can fail before its plan runs.
  struct PreparedStep {
    run::Runner& runner;
    std::size_t n_rows;  // of logits
  };
  void keep_step(std::span<const StepToken> tokens);
  // REQUIRES: the step has begun (memory.begin()).
  PreparedStep prepare(std::span<const StepToken> tokens);
  std::span<const float> compute(const PreparedStep& step, std::span<const StepToken> tokens,
                                 const std::atomic<bool>* cancel, NodeObserver* observer);
  void check_text(std::int32_t sequence, std::span<const std::int32_t> tokens) const;
  void check_has_text(std::int32_t sequence) const;
  void write_encoded(run::Runner& r, std::span<const StepToken> tokens);
  void encode(std::int32_t sequence, std::span<const std::int32_t> tokens,
              const std::atomic<bool>* cancel, NodeObserver* observer);

  std::shared_ptr<const Model> model;
  PlannedModel planned;
  std::unique_ptr<const run::SampledWeights> sampled;   // null: the weights are real
  std::shared_ptr<const run::ResidentWeights> weights;  // null if all stay in the file
  std::unique_ptr<run::SessionStream> stream;           // null if no weights are streamed
  run::SessionFiles files;
  Workers workers;
  Buffer states, arena, scratch;
  std::vector<std::unique_ptr<run::DeviceMemory>> devices;
  std::unordered_map<std::string, std::byte*> state_at;  // in host memory
  // What follows sequences, and those of the list that steps need.
  std::vector<std::unique_ptr<run::PerSequence>> parties;
  run::SessionMemory& memory;
  run::TokenIds& ids;
  run::LoraScales& lora_scales;
  run::EncodedText& encoded;
  run::DraftLayer& drafts;
  run::OtherRanks* others;                         // null unless this is rank 0 of a sharded model
  const std::unique_ptr<run::SessionMemory> text;  // that is being encoded
  const run::CellRotations rotations;              // in the graph of steps
  NodeObserver* draft_observer = nullptr;          // may be null
  std::vector<std::unique_ptr<run::Runner>> runners;  // by width class; null until first used
  Poll poll;                                          // of SessionOptions::poll
  std::vector<StepToken> chunk;    // used by feed(), so that it does not allocate
  std::vector<std::int64_t> ends;  // used by write_ends(), likewise
  std::span<const float> last;     // in the arena
};

// For the rest of this layer.
struct SessionAccess {
  static Session::Impl& impl(Session& session) { return *session.impl_; }
  static const Session::Impl& impl(const Session& session) { return *session.impl_; }
};

}  // namespace weft
