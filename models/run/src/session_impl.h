#pragma once
// The parts of a session. session_impl.cpp makes them, session.cpp runs steps, session_encoder.cpp
// encodes texts.

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/backends/memory.h"
#include "weft/run/session.h"
#include "weft/scheduler/poll.h"
#include "weft/scheduler/workers.h"

#include "device_memory.h"
#include "drafts/draft_layer.h"
#include "estimates/sampled_weights.h"
#include "memory/session_memory.h"
#include "model_impl.h"
#include "ranks/rank_world.h"
#include "session_files.h"
#include "session_runner.h"
#include "streaming/session_stream.h"

namespace weft {

struct Session::Impl {
  // The LoRA scales of a sequence.
  struct LoraScales {
    std::vector<float> now;  // by LoRA
    bool mixed = false;      // Session::mixes_lora_scales()
  };

  Impl(std::shared_ptr<const Model> m, PlannedModel p)
      : model(std::move(m)),
        planned(std::move(p)),
        sampled(run::open_samples(*model, planned)),
        weights(sampled ? nullptr : load_weights()),
        stream(sampled ? nullptr : run::open_stream(*model, planned, weights.get())),
        files(model->weights(), weights.get(), stream.get()),
        workers(planned.options.workers),
        states(planned.memory.state),
        arena(planned.memory.arena),
        scratch(planned.memory.scratch),
        devices(allocate_on_devices()),
        state_at(place_states()),
        memory(session_memory(arch::MemoryOf::sequence)),
        text(session_memory(arch::MemoryOf::text)),
        encoded(session_memory(arch::MemoryOf::encoded)),
        drafted(session_memory(arch::MemoryOf::drafts)),
        drafts(
            drafted, model->facts().draft_width, planned.options,
            {.runner = [this](std::size_t n) -> run::Runner& { return runner(plan_for(n, true)); },
             .run =
                 [this](run::Runner& r, const auto* cancel) {
                   files.check();
                   run(r, {.cancel = cancel, .observer = draft_observer});
                 }}),
        runners(planned.plans.size()),
        poll(planned.options.poll),
        chunk(static_cast<std::size_t>(planned.options.prefill_width)),
        ends(static_cast<std::size_t>(planned.options.sequences)),
        lora_scales(static_cast<std::size_t>(planned.options.sequences),
                    LoraScales{default_scales()}),
        followers(run::open_followers(*model, planned)) {}

  std::vector<std::unique_ptr<run::DeviceMemory>> allocate_on_devices() const;
  std::unordered_map<std::string, std::byte*> place_states();
  run::SessionMemory session_memory(arch::MemoryOf of);
  std::shared_ptr<const run::ResidentWeights> load_weights() const;
  // Bytes of the weights; of a region that was made for a session with more weights, only those
  // that this one reads.
  std::int64_t weight_bytes() const;
  const std::byte* weight(const Node& node) const;
  // The narrowest plan of steps, or of the others, for that many tokens.
  std::size_t plan_for(std::size_t n_tokens, bool other = false) const;
  run::Runner& runner(std::size_t plan);
  void check_tokens(std::span<const std::int32_t> tokens) const;
  void check_starts(std::int32_t sequence) const;
  void check_step(std::span<const StepToken> tokens) const;
  std::vector<float> default_scales() const;
  void write_scales(run::Runner& r, std::size_t token, std::int32_t sequence);
  // After all tokens of the sequence were removed or replaced.
  void forget_mixed(std::int32_t sequence);
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
  // REQUIRES: the memory has begun the step.
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
  run::SessionMemory memory;
  // For models with an encoder: the text that is being encoded, and the encoded text of each
  // sequence.
  run::SessionMemory text, encoded;
  run::SessionMemory drafted;
  NodeObserver* draft_observer = nullptr;  // may be null
  run::DraftLayer drafts;
  std::vector<std::unique_ptr<run::Runner>> runners;  // by width class; null until first used
  Poll poll;                                          // of SessionOptions::poll
  std::vector<StepToken> chunk;               // used by feed(), so that it does not allocate
  std::vector<std::int64_t> ends;             // used by write_ends(), likewise
  std::vector<LoraScales> lora_scales;        // by sequence
  std::span<const float> last;                // in the arena
  std::unique_ptr<run::Followers> followers;  // null unless this is rank 0 of a sharded model
};

// For the rest of this layer.
struct SessionAccess {
  static Session::Impl& impl(Session& session) { return *session.impl_; }
  static const Session::Impl& impl(const Session& session) { return *session.impl_; }
};

}  // namespace weft
