#include "weft/serve/generation.h"

#include <algorithm>
#include <utility>

#include "weft/base/error.h"
#include "weft/run/modes.h"
#include "weft/serve/generation_knobs.h"
#include "weft/serve/prompt.h"
#include "weft/tokenize/logits.h"

#include "generation/generation_impl.h"

namespace weft {
namespace {

// When a text begins, memory for up to this many tokens is reserved, so that none is allocated
// later.
constexpr std::int64_t kMaxReserved = std::int64_t{1} << 20;

}  // namespace

Generation::Impl::Impl(Session& s, std::int32_t seq, const GenerationOptions& o)
    : session(s),
      sequence(seq),
      options(o),
      tokenizer(s.model().has_tokenizer() ? &s.model().tokenizer() : nullptr),
      cancel(o.cancel ? o.cancel : &own_cancel),
      sampler(o.sampler) {
  session.length(sequence);  // throws for an unknown sequence
  if (session.options().embeddings)
    fail<UnsupportedError>("the session computes embeddings, not logits: it cannot write texts");
  check_generates(session.model());
  check_context_end(session, options.context_end);
  make_rules();
  if (options.ignore_eos || options.min_tokens > 0) {
    const Vocabulary& vocabulary = session.model().vocabulary();
    for (TokenId id = 0; id < session.model().facts().n_vocab; ++id)
      if (id < vocabulary.size() && vocabulary.ends_generation(id)) end_tokens.push_back(id);
  }
  if (options.lora_scales) set_lora_scales(*options.lora_scales);
  if (!tokenizer) options.prompt_logprobs = false;
  if (options.shows_control) options.decode.show_special = true;
  if (options.token_healing) require(session.model(), Feature::token_healing);
}

void Generation::Impl::set_lora_scales(std::span<const float> scales) {
  const std::span<const float> old = session.lora_scales(sequence);
  const bool same = std::ranges::equal(old, scales);
  session.set_lora_scales(sequence, scales);
  if (same) return;
  session.truncate(sequence, 0);
  must_encode = session.model().facts().encodes;
  end_without_text();
}

void Generation::Impl::end_without_text() {
  guesses.forget();
  n_dropped = n_new_dropped = 0;
  n_exact = -1;
  const auto held = session.tokens(sequence);
  tokens.assign(held.begin(), held.end());
  n_prompt = n_fed = n_delivered = n_seen = tokens.size();
  has_begun = false;
  stopped = StopReason::cancelled;
}

void Generation::Impl::set_sampler(const SamplerOptions& with) {
  sampler = Sampler(with);
  options.sampler = with;
}

// Truncates the sequence to what the prompt can begin with, and returns its length.
std::size_t Generation::Impl::reuse(std::span<const TokenId> prompt) {
  const bool usable = !options.prompt_logprobs && !session.mixes_lora_scales(sequence);
  std::int64_t same = usable ? session.common_prefix(sequence, prompt) : 0;
  if (n_exact >= 0 && !continues_inexact) same = std::min(same, n_exact);
  // The last token is fed in any case, for its logits.
  const std::int64_t n = session.resume_point(sequence, std::min(same, std::ssize(prompt) - 1));
  session.truncate(sequence, n);
  if (n <= n_exact) n_exact = -1;
  return static_cast<std::size_t>(n);
}

void Generation::Impl::begin(std::vector<TokenId> prompt, SamplerStart start) {
  std::optional<TokenHealing> heal;
  if (options.token_healing && tokenizer) heal.emplace(*tokenizer, prompt);
  if (prompt.empty()) fail<ValueError>("a prompt needs at least one token");
  const SessionOptions& o = session.options();
  if (std::ssize(prompt) > o.context)
    fail<ValueError>("the prompt has {} tokens, the context holds {}", prompt.size(), o.context);
  const bool encodes = session.model().facts().encodes;
  if (encodes && std::ssize(prompt) > o.prefill_width)
    fail<ValueError>("the prompt has {} tokens, the encoder reads at most {} in one step",
                     prompt.size(), o.prefill_width);
  guesses.drop(*this);
  if (options.draft) options.draft->begin();
  if (encodes) {  // the decoder's text begins after its start token
    must_encode = must_encode || !std::ranges::equal(session.text(sequence), prompt);
    source = std::exchange(prompt, {session.model().facts().start});
  }
  n_reused = reuse(prompt);
  tokens = std::move(prompt);
  tokens.reserve(std::max(tokens.size(), static_cast<std::size_t>(std::min(
                                             session.options().context + 1, kMaxReserved))));
  n_fed = n_reused;
  n_prompt = n_delivered = tokens.size();
  n_dropped = n_new_dropped = 0;
  drops.clear();
  if (start == SamplerStart::restart) sampler.reset();
  n_seen = start == SamplerStart::restart ? 0 : n_reused;
  healing.reset();
  if (heal) healing.emplace(std::move(*heal));
  begin_rules();
  if (tokenizer) detokenizer.emplace(*tokenizer, Detokenizer::Options{.decode = options.decode});
  unused_logits.clear();
  prompt_rows.clear();
  own_cancel = false;
  has_begun = may_look_ahead = true;
  stopped = StopReason::none;
}

// Called before the first token after the prompt.
void Generation::Impl::pass_prompt_to_sampler() {
  for (; n_seen < n_prompt; ++n_seen) sampler.accept(tokens[n_seen]);
}

bool Generation::Impl::encode_text() {
  if (!must_encode) return true;
  n_fed = 0;
  try {
    session.encode(sequence, source, cancel);
  } catch (const CancelledError&) {
    return false;
  }
  must_encode = false;
  return true;
}

bool Generation::Impl::feed(const std::function<void(std::int64_t, std::int64_t)>& progress) {
  if (!encode_text()) return false;
  try {
    serve::drop_old_tokens(*this);
    if (serve::n_fitting(*this) < pending().size()) {
      session.feed(sequence, pending().first(serve::n_fitting(*this)), cancel, progress);
      n_fed = static_cast<std::size_t>(session.length(sequence));
      serve::drop_old_tokens(*this);
    }
    session.feed(sequence, pending(), cancel, progress);
  } catch (const CancelledError&) {
    n_fed = static_cast<std::size_t>(session.length(sequence));
    return false;
  } catch (...) {
    n_fed = static_cast<std::size_t>(session.length(sequence));
    throw;
  }
  n_fed = tokens.size();
  return true;
}

// Appends tokens that the grammar forces. They are computed together with the previous one.
void Generation::Impl::append_forced() {
  if (!std::exchange(may_look_ahead, false) || !rules || options.logprobs >= 0) return;
  if (heals() && n_new() == 0) return;
  const std::vector<TokenId> forced = rules->forced();
  const auto n = std::ssize(forced);
  const bool fits = (options.max_tokens < 0 || n_new() + n < options.max_tokens) &&
                    std::ssize(tokens) + n < session.options().context;
  if (fits) tokens.insert(tokens.end(), forced.begin(), forced.end());
}

std::optional<GenerationEvent> Generation::Impl::next_without_step() {
  if (!has_begun) fail<ValueError>("the generation has no prompt: call begin() first");
  if (stopped != StopReason::none) return GenerationEvent{.stop = stopped};
  if (*cancel) return end(StopReason::cancelled);
  if (is_full()) return end(StopReason::max_tokens);
  append_forced();
  if (!pending().empty()) guesses.drop(*this);
  serve::drop_old_tokens(*this);
  if (n_delivered < tokens.size()) return deliver(tokens[n_delivered], {});
  return std::nullopt;
}

std::span<const float> Generation::Impl::allowed(std::span<const float> logits) {
  const bool healing_now = heals() && n_new() == 0;
  const bool restricted = rules && rules->restricts();
  const bool too_short = n_new() < options.min_tokens;
  const bool may_end = !options.ignore_eos && !too_short;
  if (!restricted && may_end && !healing_now) return logits;
  changed_logits.assign(logits.begin(), logits.end());
  if (restricted) rules->restrict(changed_logits);
  if (!may_end) forbid(end_tokens, changed_logits);
  if (too_short) forbid(options.stop_tokens, changed_logits);
  if (healing_now) return healing->only_allowed(changed_logits, changed_logits);
  return changed_logits;
}

GenerationEvent Generation::Impl::choose(std::span<const float> logits) {
  try {
    const GenerationEvent event = choose_from(logits);
    unused_logits.clear();
    return event;
  } catch (...) {  // the caller may try again
    if (logits.data() != unused_logits.data()) unused_logits.assign(logits.begin(), logits.end());
    throw;
  }
}

std::optional<GenerationEvent> Generation::Impl::choose_unless_full(std::span<const float> logits) {
  if (is_full()) return end(StopReason::max_tokens);
  return choose(logits);
}

bool Generation::Impl::ends_text(TokenId token) const {
  const Vocabulary& vocabulary = session.model().vocabulary();
  return (token < vocabulary.size() && vocabulary.ends_generation(token)) ||
         std::ranges::find(options.stop_tokens, token) != options.stop_tokens.end();
}

GenerationEvent Generation::Impl::choose_from(std::span<const float> logits) {
  pass_prompt_to_sampler();
  const std::span<const float> left = allowed(logits);
  const TokenId token = options.choose ? options.choose(left, tokens) : sampler.sample(left);
  if (ends_text(token)) return end(StopReason::end_of_text, token);
  if (options.feed_last && std::ssize(tokens) == session.options().context &&
      serve::ends_with_context(*this))
    return end(StopReason::context_full);
  tokens.push_back(token);
  guesses.settle(*this, token);
  may_look_ahead = true;
  return deliver(token, logits);
}

// `logits`: from which the token was chosen; empty if it was forced.
GenerationEvent Generation::Impl::deliver(TokenId token, std::span<const float> logits) {
  const bool complete = rules && rules->accept(token);
  GenerationEvent event{.token = token};
  if (options.logprobs >= 0 && tokenizer) {
    logprobs = token_logprobs(*tokenizer, logits, token, n_top());
    event.logprobs = &logprobs;
  }
  pass_prompt_to_sampler();
  sampler.accept(token);
  n_seen = ++n_delivered;
  out.clear();
  add_text(token);
  event.stop = stopped = stop_after(complete);
  if (stopped != StopReason::none) {
    guesses.end(*this);
    flush_text();
  }
  event.text = out;
  event.n_unshown = rules ? rules->n_unshown() : 0;
  return event;
}

// The logits after the last prompt token that has a row.
void Generation::Impl::add_prompt_row(std::span<const float> logits) {
  const TokenId next = tokens[prompt_rows.size() + 1];
  prompt_rows.push_back(token_logprobs(*tokenizer, logits, next, n_top()));
}

bool Generation::Impl::is_out_of_time() {
  if (!options.max_time) return false;
  const auto now = std::chrono::steady_clock::now();
  if (n_new() == 1) first_token_at = now, has_line_break = false;
  has_line_break |= out.find('\n') != out.npos;
  return has_line_break && now - first_token_at >= *options.max_time;
}

StopReason Generation::Impl::stop_after(bool complete) {
  const bool out_of_time = is_out_of_time();
  if (complete) return StopReason::complete;
  if (rules && rules->stopped()) return StopReason::stop_string;
  if (n_new() == options.max_tokens) return StopReason::max_tokens;
  if (out_of_time) return StopReason::max_time;
  if (std::ssize(tokens) > session.options().context && serve::ends_with_context(*this))
    return StopReason::context_full;
  return StopReason::none;
}

GenerationEvent Generation::Impl::end(StopReason reason, TokenId token) {
  stopped = reason;
  guesses.end(*this);
  out.clear();
  flush_text();
  return {.token = token, .text = out, .stop = reason};
}

void Generation::Impl::add_text(TokenId token) {
  if (!tokenizer) return;
  std::string_view text;
  const bool shown =
      !options.shows_control || !tokenizer->hidden(token) || options.shows_control(token);
  if (shown) text = detokenizer->push(token);
  if (healing) text = healing->without_seen(text);
  if (rules)
    rules->show(text, out);
  else
    out += text;
}

// Emits what was held back: an incomplete character, or the beginning of a stop string.
void Generation::Impl::flush_text() {
  if (!tokenizer) return;
  const std::string_view half = detokenizer->finish();
  if (!rules) {
    out += half;
    return;
  }
  if (!half.empty()) rules->show(half, out);
  rules->flush(out);
}

Generation::Generation(Session& session, std::int32_t sequence, const GenerationOptions& options)
    : impl_((check_numbers(options), std::make_unique<Impl>(session, sequence, options))) {}
Generation::Generation(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Generation::~Generation() = default;
Generation::Generation(Generation&&) noexcept = default;
Generation& Generation::operator=(Generation&&) noexcept = default;

void Generation::begin(std::span<const TokenId> prompt, SamplerStart start) {
  impl_->begin({prompt.begin(), prompt.end()}, start);
}

void Generation::begin(std::string_view prompt) {
  impl_->begin(encode_prompt(impl_->session.model(), prompt), SamplerStart::restart);
}

void Generation::set_lora_scales(std::span<const float> scales) {
  impl_->set_lora_scales(scales);
}
void Generation::set_sampler(const SamplerOptions& options) {
  impl_->set_sampler(options);
}
void Generation::set_grammar(std::shared_ptr<const Grammar> grammar,
                             std::shared_ptr<const TokenTree> tree) {
  impl_->set_grammar(std::move(grammar), std::move(tree));
}

bool Generation::prefill(const std::function<void(std::int64_t, std::int64_t)>& progress) {
  // Forced tokens that no event has delivered yet may still be dropped; next() feeds them.
  if (impl_->pending().empty() || impl_->n_delivered < impl_->tokens.size()) return true;
  if (!impl_->feed(progress)) return false;
  const auto logits = impl_->session.logits();
  impl_->unused_logits.assign(logits.begin(), logits.end());
  return true;
}

bool Generation::ended() const {
  return impl_->stopped != StopReason::none;
}

std::string_view Generation::stop_string() const {
  if (impl_->stopped != StopReason::stop_string) return {};
  return impl_->rules->stop_string();
}

bool Generation::feed_last() {
  if (!ended()) return prefill();
  return impl_->pending().empty() || impl_->feed();
}

void Generation::cancel() {
  *impl_->cancel = true;
}

std::span<const TokenId> Generation::tokens() const {
  return impl_->tokens;
}
std::int64_t Generation::n_prompt() const {
  return static_cast<std::int64_t>(impl_->n_prompt);
}
std::int64_t Generation::n_text() const {
  return std::ssize(impl_->source);
}
std::int64_t Generation::n_new() const {
  return impl_->n_new();
}
std::int64_t Generation::n_reused() const {
  return static_cast<std::int64_t>(impl_->n_reused);
}
std::span<const TokenId> Generation::held() const {
  return std::span(impl_->tokens).first(impl_->n_fed);
}
std::int64_t Generation::n_pending() const {
  return std::ssize(impl_->pending());
}
std::span<const TokenLogprobs> Generation::prompt_logprobs() const {
  return impl_->prompt_rows;
}
Session& Generation::session() const {
  return impl_->session;
}
std::int32_t Generation::sequence() const {
  return impl_->sequence;
}

}  // namespace weft
