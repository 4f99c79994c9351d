#include <cmath>

#include "weft/serve/beam_texts.h"

#include "border/arguments.h"
#include "border/call.h"
#include "border/json.h"
#include "models/generation.h"

namespace weft::c_api {
namespace {

weft_beam_options default_beam_options() {
  const BeamOptions d;
  return {.struct_size = sizeof(weft_beam_options),
          .beams = static_cast<std::int32_t>(d.beams),
          .length_penalty = d.length_penalty};
}

EarlyStopping stopping_of(const char* name) {
  if (!name) return BeamOptions{}.stopping;
  for (const auto stopping : {EarlyStopping::never, EarlyStopping::likely, EarlyStopping::first}) {
    if (to_string(stopping) == name) return stopping;
  }
  fail<ValueError>("`stopping` must be 'never', 'likely' or 'first', got '{}'", name);
}

BeamOptions beam_options(const weft_beam_options* given) {
  const auto o = read_options(given, default_beam_options(), "weft_beam_options");
  check_least(o.beams, 1, "beams");
  if (!(std::abs(o.length_penalty) <= 1000))
    fail<ValueError>("`length_penalty` must be from -1000 to 1000, got {}", o.length_penalty);
  return {.beams = static_cast<std::size_t>(o.beams),
          .length_penalty = o.length_penalty,
          .stopping = stopping_of(o.stopping)};
}

Json found_json(const BeamTexts& texts) {
  Json list = Json::array();
  for (const BeamTexts::Found& found : texts.best)
    list.push_back({{"text", found.text},
                    {"tokens", found.hypothesis.tokens},
                    {"logprob", found.hypothesis.logprob},
                    {"score", found.hypothesis.score},
                    {"ended", found.hypothesis.ended}});
  return list;
}

}  // namespace
}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_beam_options_init(weft_beam_options* options, size_t size) {
  return call(nullptr,
              [&] { init_options(options, size, default_beam_options(), "weft_beam_options"); });
}

weft_status weft_generation_search_json(weft_generation* generation,
                                        const weft_beam_options* options, weft_text* json,
                                        weft_error** error) {
  return call(error, [&] {
    required(json, "json");
    const UsedGeneration g(generation);
    const BeamTexts found = search_texts(*g, beam_options(options));
    if (found.cancelled) fail<CancelledError>("the search was cancelled");
    write_text(json, json_text(found_json(found)));
  });
}
