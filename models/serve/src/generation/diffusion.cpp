#include "weft/serve/diffusion.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/base/error.h"
#include "weft/sample/log_sum_exp.h"
#include "weft/tokenize/tokenizer.h"

namespace weft {
namespace {

constexpr std::string_view kAlgorithmNames[] = {"confidence", "entropy", "margin", "random"};
constexpr DiffusionAlgorithm kAll[] = {DiffusionAlgorithm::confidence, DiffusionAlgorithm::entropy,
                                       DiffusionAlgorithm::margin, DiffusionAlgorithm::random};

constexpr std::int64_t kMaxSteps = 1 << 20;

bool file_shifts(const Model& model) {
  const Checkpoint& file = model.file();
  constexpr std::string_view kKey = "diffusion.shift_logits";
  return file.find_bool(kKey).value_or(true);
}

TokenId mask_token(const Model& model, const DiffusionOptions& o) {
  const TokenId id = o.mask_token != kNoToken ? o.mask_token : model.vocabulary().special().mask;
  if (id == kNoToken) {
    fail<UnsupportedError>("{}: the vocabulary has no mask token (tokenizer.ggml.mask_token_id)",
                           model.file().path());
  }
  if (id < 0 || id >= model.facts().n_vocab)
    fail<ValueError>("the mask token {} is outside the vocabulary of {}", id,
                     model.facts().n_vocab);
  return id;
}

const Model& check_diffuser(const Model& model) {
  if (is_diffusion_model(model)) return model;
  fail<UnsupportedError>("{}: not a diffusion model", model.file().path());
}

std::int64_t n_blocks(const DiffusionOptions& o) {
  return o.block_length > 0 ? (o.max_tokens + o.block_length - 1) / o.block_length : 1;
}

void check_options(const DiffusionOptions& o) {
  if (o.max_tokens < 1 || o.max_tokens > kMaxPrefillWidth)
    fail<ValueError>("a diffusion model writes 1..{} tokens, got {}", kMaxPrefillWidth,
                     o.max_tokens);
  if (o.block_length < 0 || o.block_length > kMaxPrefillWidth)
    fail<ValueError>("a block has 1..{} tokens, or 0 for none, got {}", kMaxPrefillWidth,
                     o.block_length);
  if (o.steps < n_blocks(o) || o.steps > kMaxSteps)
    fail<ValueError>("the steps for {} must be {}..{}, got {}",
                     o.block_length > 0 ? fmt::format("{} blocks", n_blocks(o)) : "a text",
                     n_blocks(o), kMaxSteps, o.steps);
  if (!(o.eps >= 0 && o.eps < 1))
    fail<ValueError>("eps must be at least 0 and below 1, got {}", o.eps);
  if (!(o.algorithm_temperature >= 0 && std::isfinite(o.algorithm_temperature)))
    fail<ValueError>("the temperature of the algorithm must not be negative, got {}",
                     o.algorithm_temperature);
  if (!(o.guidance >= 0 && std::isfinite(o.guidance)))
    fail<ValueError>("the scale of guidance must be finite and not negative, got {}", o.guidance);
}

// A score of the model's probabilities. Positions with higher ones are filled in first.
double score(std::span<const float> logits, TokenId chosen, DiffusionAlgorithm algorithm,
             Random& random) {
  switch (algorithm) {
    case DiffusionAlgorithm::confidence:
      return std::exp(logprob(logits, chosen));
    case DiffusionAlgorithm::margin: {
      const std::vector<Likely> best = most_likely(logits, 2);
      return std::exp(best.front().logprob) - (best.size() > 1 ? std::exp(best[1].logprob) : 0);
    }
    case DiffusionAlgorithm::random:
      return random.uniform();
    case DiffusionAlgorithm::entropy:
      break;
  }
  const double total = precise_log_sum_exp(logits);
  double sum = 0;
  for (const float logit : logits) {
    if (logit > -std::numeric_limits<float>::infinity())
      sum += std::exp(logit - total) * (logit - total);
  }
  return sum;
}

}  // namespace

std::string_view to_string(DiffusionAlgorithm algorithm) {
  return kAlgorithmNames[static_cast<std::size_t>(algorithm)];
}

std::span<const DiffusionAlgorithm> diffusion_algorithms() {
  return kAll;
}

bool is_diffusion_model(const Model& model) {
  return model.facts().diffuses;
}

void check_diffusion(const Model& model, const DiffusionOptions& options) {
  mask_token(check_diffuser(model), options);
  check_options(options);
  sampler_chain(options.sampler);
}

SessionOptions diffusion_session(SessionOptions session, std::size_t n_prompt,
                                 const DiffusionOptions& options) {
  check_options(options);
  constexpr std::size_t kMax = kMaxPrefillWidth;
  const auto n = static_cast<std::int64_t>(std::min(n_prompt, kMax)) + options.max_tokens;
  session.prefill_width = std::max(session.prefill_width, std::min(n, kMaxPrefillWidth));
  const std::int64_t n_rows = options.block_length > 0
                                  ? std::min(options.block_length, options.max_tokens)
                                  : options.max_tokens;
  session.logits_rows = std::min(n_rows, session.prefill_width);
  return session;
}

struct Diffusion::Impl {
  // A masked position, with the token that would be filled in.
  struct Choice {
    std::size_t at = 0;
    TokenId token = kNoToken;
    double score = 0;
  };

  Impl(Session& s, std::int32_t n, const DiffusionOptions& o)
      : session(s),
        sequence(n),
        options(o),
        mask(mask_token(check_diffuser(s.model()), o)),
        shifts(o.shift_logits ? *o.shift_logits : file_shifts(s.model())),
        sampler(o.sampler),
        random(o.sampler.seed) {
    check_options(o);
    if (session.options().embeddings)
      fail<ValueError>("the session returns embeddings: a diffusion model needs logits");
    session.length(sequence);  // throws for an unknown sequence
  }

  std::int64_t steps_per_block() const { return options.steps / n_blocks(options); }
  std::int64_t n_masked(std::size_t begin, std::size_t end) const {
    return std::count(masked.begin() + std::ptrdiff_t(begin), masked.begin() + std::ptrdiff_t(end),
                      true);
  }
  void check_fits(std::span<const TokenId> prompt) const;
  std::int64_t n_to_fill(std::int64_t n_masked) const;
  bool fill(std::size_t begin, std::size_t end, std::int64_t n);
  std::span<const float> compute(std::size_t begin, std::size_t end, bool with_prompt);
  std::span<const float> logits(std::size_t begin, std::size_t end);
  void choose(std::span<const float> rows, std::size_t begin, std::size_t end);
  void order(std::size_t n);

  Session& session;
  const std::int32_t sequence;
  DiffusionOptions options;
  const TokenId mask;
  const bool shifts;
  Sampler sampler;
  Random random;  // draws positions
  std::vector<TokenId> tokens;
  std::vector<bool> masked;  // by position
  std::size_t n_prompt = 0;
  std::int64_t done = 0, n_computed = 0;  // steps
  std::vector<StepToken> step;
  std::vector<float> guided;   // logits, with guidance
  std::vector<float> allowed;  // the logits of a position, without those of the mask
  std::vector<Choice> choices;
};

void Diffusion::Impl::check_fits(std::span<const TokenId> prompt) const {
  const SessionOptions& o = session.options();
  if (prompt.empty()) fail<ValueError>("a prompt needs at least one token");
  const std::int64_t n = std::ssize(prompt) + options.max_tokens;
  const std::int64_t room = std::min(o.prefill_width, o.context);
  if (n > room) {
    fail<ValueError>(
        "the prompt has {} tokens, {} are to follow: {} in all, at most {} fit into a "
        "step of the session and its context",
        prompt.size(), options.max_tokens, n, room);
  }
  const std::int64_t n_rows = diffusion_session({}, prompt.size(), options).logits_rows;
  if (n_rows > o.logits_rows)
    fail<ValueError>("a step needs {} rows of logits, the session returns at most {}", n_rows,
                     o.logits_rows);
}

// The tokens that the current step fills in, of n_masked.
std::int64_t Diffusion::Impl::n_to_fill(std::int64_t n_masked) const {
  const std::int64_t n = steps_per_block(), i = done % n;
  if (i + 1 == n) return n_masked;
  if (options.block_length > 0) return (n_masked + n - i - 1) / (n - i);
  const auto share = [&](std::int64_t at) {  // tokens that are masked before step `at`
    return 1 - static_cast<double>(at) / static_cast<double>(n) * (1 - options.eps);
  };
  return static_cast<std::int64_t>(static_cast<double>(n_masked) * (1 - share(i + 1) / share(i)));
}

// The model's logits of the masked positions begin .. end - 1, row by row. Without the prompt, all
// of its tokens are masked, too.
std::span<const float> Diffusion::Impl::compute(std::size_t begin, std::size_t end,
                                                bool with_prompt) {
  step.clear();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const TokenId token = i < n_prompt && !with_prompt ? mask : tokens[i];
    step.push_back({.token = token, .sequence = sequence});
  }
  for (std::size_t i = begin; i < end; ++i) {
    if (masked[i]) step[i - shifts].logits = true;
  }
  session.truncate(sequence, 0);
  const std::span<const float> rows = session.step(step, options.cancel);
  ++n_computed;
  return rows;
}

// Likewise, with guidance.
std::span<const float> Diffusion::Impl::logits(std::size_t begin, std::size_t end) {
  const std::span<const float> rows = compute(begin, end, true);
  if (options.guidance == 0) return rows;
  guided.assign(rows.begin(), rows.end());
  const std::span<const float> without = compute(begin, end, false);
  const auto factor = static_cast<float>(1 + options.guidance);
  for (std::size_t i = 0; i < guided.size(); ++i)
    guided[i] = without[i] + factor * (guided[i] - without[i]);
  return guided;
}

void Diffusion::Impl::choose(std::span<const float> rows, std::size_t begin, std::size_t end) {
  const auto V = static_cast<std::size_t>(session.model().facts().n_vocab);
  choices.clear();
  for (std::size_t i = begin; i < end; ++i) {
    if (!masked[i]) continue;
    allowed.assign(rows.begin(), rows.begin() + std::ptrdiff_t(V));
    allowed[static_cast<std::size_t>(mask)] = -std::numeric_limits<float>::infinity();
    const TokenId token = sampler.sample(allowed);
    choices.push_back({i, token, score(allowed, token, options.algorithm, random)});
    rows = rows.subspan(V);
  }
}

// Moves the n choices that are filled in to the front.
void Diffusion::Impl::order(std::size_t n) {
  std::ranges::stable_sort(choices, std::ranges::greater(), &Choice::score);
  const double t = options.algorithm_temperature;
  if (t == 0 || options.algorithm == DiffusionAlgorithm::random) return;
  for (std::size_t i = 0; i < n; ++i) {  // a draw without replacement
    const double max = choices[i].score;
    const auto weight = [&](const Choice& c) { return std::exp((c.score - max) / t); };
    double total = 0;
    for (std::size_t j = i; j < choices.size(); ++j) total += weight(choices[j]);
    double left = random.uniform() * total;
    std::size_t chosen = i;
    for (; chosen + 1 < choices.size(); ++chosen) {
      left -= weight(choices[chosen]);
      if (left < 0) break;
    }
    std::rotate(choices.begin() + std::ptrdiff_t(i), choices.begin() + std::ptrdiff_t(chosen),
                choices.begin() + std::ptrdiff_t(chosen) + 1);
  }
}

// Fills in n of the masked positions begin .. end - 1. Returns false if cancelled.
bool Diffusion::Impl::fill(std::size_t begin, std::size_t end, std::int64_t n) {
  std::span<const float> rows;
  try {
    rows = logits(begin, end);
  } catch (const CancelledError&) {
    return false;
  }
  choose(rows, begin, end);
  order(static_cast<std::size_t>(n));
  for (const Choice& c : std::span(choices).first(static_cast<std::size_t>(n))) {
    tokens[c.at] = c.token;
    masked[c.at] = false;
  }
  return true;
}

Diffusion::Diffusion(Session& session, std::int32_t sequence, const DiffusionOptions& options)
    : impl_(std::make_unique<Impl>(session, sequence, options)) {}
Diffusion::~Diffusion() = default;
Diffusion::Diffusion(Diffusion&&) noexcept = default;

void Diffusion::begin(std::span<const TokenId> prompt) {
  Impl& d = *impl_;
  d.check_fits(prompt);
  d.n_prompt = prompt.size();
  d.tokens.assign(prompt.begin(), prompt.end());
  d.tokens.resize(d.n_prompt + static_cast<std::size_t>(d.options.max_tokens), d.mask);
  d.masked.assign(d.tokens.size(), false);
  std::fill(d.masked.begin() + std::ptrdiff_t(d.n_prompt), d.masked.end(), true);
  d.done = d.n_computed = 0;
  d.sampler.reseed(d.options.sampler.seed);
  d.random = Random(d.options.sampler.seed);
}

void Diffusion::set_seed(std::uint64_t seed) {
  impl_->options.sampler.seed = seed;
}

bool Diffusion::step() {
  Impl& d = *impl_;
  if (d.tokens.empty()) fail<ValueError>("the text has no prompt: call begin() first");
  for (; d.done < n_steps(); ++d.done) {
    const std::int64_t block = d.done / d.steps_per_block();
    const bool in_blocks = d.options.block_length > 0;
    const std::size_t size = in_blocks ? static_cast<std::size_t>(d.options.block_length) : 0;
    const std::size_t begin = d.n_prompt + static_cast<std::size_t>(block) * size;
    const std::size_t end = in_blocks ? std::min(begin + size, d.tokens.size()) : d.tokens.size();
    const std::int64_t n = d.n_to_fill(d.n_masked(begin, end));
    if (n == 0) continue;
    if (!d.fill(begin, end, n)) return false;
    ++d.done;
    return true;
  }
  return false;
}

std::span<const TokenId> Diffusion::tokens() const {
  return impl_->tokens;
}
std::int64_t Diffusion::n_prompt() const {
  return static_cast<std::int64_t>(impl_->n_prompt);
}
bool Diffusion::is_masked(std::size_t i) const {
  return impl_->masked.at(i);
}
std::int64_t Diffusion::n_masked() const {
  return impl_->n_masked(0, impl_->masked.size());
}
std::int64_t Diffusion::n_steps() const {
  return impl_->steps_per_block() * n_blocks(impl_->options);
}
std::int64_t Diffusion::steps_done() const {
  return impl_->done;
}
std::int64_t Diffusion::n_computed() const {
  return impl_->n_computed;
}

std::int64_t Diffusion::n_text() const {
  const Impl& d = *impl_;
  const Vocabulary& vocabulary = d.session.model().vocabulary();
  std::size_t i = d.n_prompt;
  const auto ends = [&](std::size_t at) {
    const TokenId id = d.tokens[at];
    return !d.masked[at] && id < vocabulary.size() && vocabulary.ends_generation(id);
  };
  while (i < d.tokens.size() && !ends(i)) ++i;
  return static_cast<std::int64_t>(i - d.n_prompt);
}

std::string Diffusion::text(std::string_view masked) const {
  const Impl& d = *impl_;
  const Tokenizer& tokenizer = d.session.model().tokenizer();
  const std::size_t end = d.n_prompt + static_cast<std::size_t>(n_text());
  std::string text;
  for (std::size_t i = d.n_prompt; i < end;) {
    if (d.masked[i]) {
      text += masked;
      ++i;
      continue;
    }
    std::size_t stop = i;
    while (stop < end && !d.masked[stop]) ++stop;
    text += tokenizer.decode(std::span(d.tokens).subspan(i, stop - i));
    i = stop;
  }
  return text;
}

}  // namespace weft
