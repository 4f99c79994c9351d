// Texts of models with an encoder and a decoder: the encoder reads the text of a sequence once, and
// leaves keys and values that all tokens of the sequence attend to.
#include <ranges>

#include "weft/base/error.h"

#include "session/session_impl.h"

namespace weft {

using namespace run;

void Session::Impl::check_text(std::int32_t sequence, std::span<const std::int32_t> tokens) const {
  const SessionOptions& o = planned.options;
  if (!model->facts().encodes)
    fail<UnsupportedError>("{}: the model has no encoder", model->file().path());
  memory.lengths().check(sequence);
  check_tokens(tokens);
  const std::int64_t max_tokens = std::min(o.prefill_width, o.context);
  if (tokens.empty() || std::ssize(tokens) > max_tokens) {
    fail<ValueError>("the encoder reads a text of 1..{} tokens in one step, got {}", max_tokens,
                     tokens.size());
  }
}

void Session::Impl::check_has_text(std::int32_t sequence) const {
  if (sequence < 0 || sequence >= memory.lengths().n_sequences()) return;  // refused by the memory
  if (!encoded.of(sequence).empty()) return;
  fail<ValueError>("{}: the encoder of the model must read a text first; sequence {} has none",
                   model->file().path(), sequence);
}

// Each token attends to the whole text of its sequence.
void Session::Impl::write_encoded(Runner& r, std::span<const StepToken> tokens) {
  SessionMemory& read = encoded.memory();
  read.begin_repeating(std::views::transform(tokens, [&](const StepToken& t) {
    return TokenPlace{t.sequence, read.length(t.sequence) - 1};
  }));
  read.write_inputs(r.encoded);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    Runner::put(r.last_encoded, i, read.step()[i].position);
}

// REQUIRES: `text` and `encoded` have begun the step.
void Session::Impl::encode(std::int32_t sequence, std::span<const std::int32_t> tokens,
                           const std::atomic<bool>* cancel, NodeObserver* observer) {
  Runner& r = runner(planned.plan_for(std::ssize(tokens), arch::GraphPart::encoder));
  const std::size_t last_token = tokens.size() - 1;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    Runner::put(r.tokens, i, tokens[i]);
    Runner::put(r.pos, i, static_cast<std::int64_t>(i));
    Runner::put(r.ends, i, static_cast<std::int64_t>(last_token));
    write_scales(r, i, sequence);
  }
  Runner::put(r.out_rows, 0, static_cast<std::int64_t>(last_token));
  text->write_inputs(r.memory);
  encoded.memory().write_inputs(r.encoded);
  r.extents[r.t] = std::ssize(tokens);
  r.extents[r.o] = 1;
  files.check();
  run(r, {.cancel = cancel, .observer = observer});
}

void Session::encode(std::int32_t sequence, std::span<const std::int32_t> tokens,
                     const std::atomic<bool>* cancel, NodeObserver* observer) {
  Impl& s = *impl_;
  s.check_text(sequence, tokens);
  s.last = {};
  truncate(sequence, 0);
  s.encoded.clear(sequence);
  const std::vector<StepToken> of_text(tokens.size()),
      of_sequence(tokens.size(), {.sequence = sequence});
  SessionMemory& left = s.encoded.memory();
  s.text->begin(of_text);
  try {
    left.begin(of_sequence);
    s.encode(sequence, tokens, cancel, observer);
    left.append();
  } catch (...) {
    left.rollback();
    s.text->rollback();
    throw;
  }
  s.text->rollback();  // nothing reads it again
  s.encoded.set(sequence, tokens);
}

std::span<const std::int32_t> Session::text(std::int32_t sequence) const {
  impl_->memory.lengths().check(sequence);
  return impl_->encoded.of(sequence);
}

}  // namespace weft
