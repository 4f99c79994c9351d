#include "weft/serve/diffusion.h"

#include <limits>
#include <optional>
#include <string>

#include "border/arguments.h"
#include "border/call.h"
#include "border/objects.h"
#include "border/options.h"

namespace weft::c_api {
namespace {

struct DiffusionObject : Object {
  static constexpr Kind kKind = Kind::diffusion;
  DiffusionObject(std::shared_ptr<SessionObject> of, std::int32_t number,
                  const DiffusionOptions& options)
      : Object(kKind),
        session(std::move(of)),
        sequence(number),
        diffusion(session->session, number, options) {}
  bool is_parents() const override { return session->is_parents(); }
  Diffusion& inner() { return diffusion; }

  const std::shared_ptr<SessionObject> session;
  Gate& gate = session->gate;
  const std::int32_t sequence;
  Diffusion diffusion;
};
using UsedDiffusion = Used<DiffusionObject>;

weft_diffusion_options default_diffusion_options() {
  const DiffusionOptions d;
  return {.struct_size = sizeof(weft_diffusion_options),
          .mask_token = d.mask_token,
          .max_tokens = d.max_tokens,
          .steps = d.steps,
          .block_length = d.block_length,
          .algorithm_temperature = d.algorithm_temperature,
          .eps = d.eps,
          .guidance = d.guidance,
          .shift_logits = -1};
}

DiffusionAlgorithm algorithm_of(const char* name) {
  if (!name) return DiffusionOptions{}.algorithm;
  std::string known;
  for (const DiffusionAlgorithm algorithm : diffusion_algorithms()) {
    if (to_string(algorithm) == name) return algorithm;
    known += (known.empty() ? "" : ", ") + std::string(to_string(algorithm));
  }
  fail<ValueError>("unknown algorithm '{}' (known: {})", name, known);
}

std::optional<bool> shift_of(std::int32_t shift) {
  check_between(shift, -1, 1, "shift_logits");
  return shift < 0 ? std::nullopt : std::optional(shift != 0);
}

DiffusionOptions diffusion_options(const weft_diffusion_options* given,
                                   std::int64_t n_vocab = std::numeric_limits<weft_token>::max()) {
  const auto o = read_options(given, default_diffusion_options(), "weft_diffusion_options");
  check_reserved(o.reserved, "weft_diffusion_options");
  return {.sampler = sampler_options(o.sampler, n_vocab),
          .max_tokens = o.max_tokens,
          .steps = o.steps,
          .algorithm = algorithm_of(o.algorithm),
          .algorithm_temperature = o.algorithm_temperature,
          .block_length = o.block_length,
          .eps = o.eps,
          .guidance = o.guidance,
          .shift_logits = shift_of(o.shift_logits),
          .mask_token = o.mask_token};
}

}  // namespace
}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_diffusion_options_init(weft_diffusion_options* options, size_t size) {
  return call(nullptr, [&] {
    init_options(options, size, default_diffusion_options(), "weft_diffusion_options");
  });
}

weft_status weft_diffusion_fit_session(const weft_diffusion_options* options, size_t n_prompt,
                                       weft_session_options* session, weft_error** error) {
  return call(error, [&] {
    check_output(session, "weft_session_options");
    auto fitted = read_options(session, default_session_options(), "weft_session_options");
    const SessionOptions wide = diffusion_session(
        {.prefill_width = fitted.prefill_width, .logits_rows = fitted.logits_rows}, n_prompt,
        diffusion_options(options));
    fitted.prefill_width = wide.prefill_width;
    fitted.logits_rows = wide.logits_rows;
    write_struct(session, fitted, "weft_session_options");
  });
}

weft_status weft_diffusion_open(weft_session* session, int32_t sequence,
                                const weft_diffusion_options* options, weft_diffusion** diffusion,
                                weft_error** error) {
  return call(error, [&] {
    required(diffusion, "diffusion");
    const UsedSession s(session);
    DiffusionOptions how = diffusion_options(options, s->model().facts().n_vocab);
    how.cancel = &s.cancelled();
    *diffusion =
        handle_of<weft_diffusion>(std::make_shared<DiffusionObject>(s.object(), sequence, how));
  });
}

weft_status weft_diffusion_begin(weft_diffusion* diffusion, const weft_token* prompt, size_t n,
                                 weft_error** error) {
  return call(error, [&] {
    const UsedDiffusion d(diffusion);
    const auto tokens = array(prompt, n, "prompt");
    check_tokens(tokens, d.object()->session->session.model().facts().n_vocab, "prompt");
    d->begin(tokens);
  });
}

weft_status weft_diffusion_step(weft_diffusion* diffusion, int32_t* more, weft_error** error) {
  return call(error, [&] {
    const UsedDiffusion d(diffusion);
    required(more, "more");
    const bool filled = d->step();
    if (!filled && d.cancelled()) fail<CancelledError>("the call was cancelled");
    *more = filled;
  });
}

weft_status weft_diffusion_get_text(weft_diffusion* diffusion, const char* masked, weft_text* text,
                                    weft_error** error) {
  return call(error, [&] {
    const UsedDiffusion d(diffusion);
    write_text(text, d->text(text_or(masked)));
  });
}

weft_status weft_diffusion_get_info(weft_diffusion* diffusion, weft_diffusion_info* info,
                                    weft_error** error) {
  return call(error, [&] {
    const UsedDiffusion d(diffusion);
    const std::span<const TokenId> tokens = d->tokens();
    write_struct(info,
                 weft_diffusion_info{.sequence = d.object()->sequence,
                                     .tokens = tokens.data(),
                                     .n_tokens = tokens.size(),
                                     .n_prompt = d->n_prompt(),
                                     .n_masked = d->n_masked(),
                                     .n_steps = d->n_steps(),
                                     .steps_done = d->steps_done()},
                 "weft_diffusion_info");
  });
}

weft_status weft_diffusion_free(weft_diffusion* diffusion) {
  return free_handle<DiffusionObject>(diffusion);
}
