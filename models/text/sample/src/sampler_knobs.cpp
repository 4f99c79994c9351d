#include "weft/sample/sampler_knobs.h"

#include <limits>

namespace weft {
namespace {

using S = SamplerOptions;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
// OpenAI's interface allows these penalties.
constexpr KnobRange kPenaltyOfRequests{-2, 2};

constexpr Knob<S> kSamplerKnobs[] = {
    {{.name = "temperature",
      .doc = "Temperature of the random draw: higher values make unlikely tokens more likely; 0 "
             "always chooses the most likely token.",
      .flags = "--temp",
      .aliases = {"temp"}},
     &S::temperature,
     {0, kNoLimit}},
    {{.name = "dynatemp_range",
      .doc = "Amount by which the temperature may vary with the entropy; 0 keeps it constant.",
      .flags = "--dynatemp-range"},
     &S::dynamic_range,
     {0, kNoLimit}},
    {{.name = "dynatemp_exponent",
      .doc = "Exponent with which the temperature follows the entropy; it has no effect if "
             "dynatemp_range is 0.",
      .flags = "--dynatemp-exp"},
     &S::dynamic_exponent},
    {{.name = "top_k",
      .doc = "Keep only the k most likely tokens; 0 and -1 keep all.",
      .flags = "--top-k"},
     &S::top_k,
     {-1, kNoLimit}},
    {{.name = "top_p",
      .doc = "Keep the most likely tokens with this total probability; 1 keeps all.",
      .flags = "--top-p"},
     &S::top_p,
     {0, 1}},
    {{.name = "min_p",
      .doc = "Keep tokens that are at least this likely, relative to the most likely one; 0 keeps "
             "all.",
      .flags = "--min-p"},
     &S::min_p,
     {0, 1}},
    {{.name = "typical_p",
      .doc = "Keep the tokens whose surprise is closest to the expected one, with this total "
             "probability; 1 keeps all.",
      .flags = "--typical",
      .aliases = {"typ_p", "typical"}},
     &S::typical_p,
     {0, 1}},
    {{.name = "top_n_sigma",
      .doc = "Keep tokens whose logits are within n standard deviations of the highest; 0 and less "
             "keep all.",
      .flags = "--top-nsigma,--top-n-sigma",
      .aliases = {"nsigma"}},
     &S::top_n_sigma},
    {{.name = "tfs_z",
      .doc = "Remove the flat tail of the probabilities by tail-free sampling with this z; 1 keeps "
             "all.",
      .flags = "--tfs",
      .aliases = {"tfs"}},
     &S::tail_free_z,
     {0, 1}},
    {{.name = "repeat_penalty",
      .doc = "Divisor that makes recent tokens less likely; 1 switches it off.",
      .flags = "--repeat-penalty",
      .aliases = {"repetition_penalty", "rep_pen"}},
     &S::repeat_penalty,
     {0.001, 1000}},
    {{.name = "presence_penalty",
      .doc = "Amount subtracted from the logits of recent tokens; 0 switches it off.",
      .flags = "--presence-penalty"},
     &S::presence_penalty,
     {},
     kPenaltyOfRequests},
    {{.name = "frequency_penalty",
      .doc = "Amount subtracted from the logit of a recent token for each of its occurrences; 0 "
             "switches it off.",
      .flags = "--frequency-penalty"},
     &S::frequency_penalty,
     {},
     kPenaltyOfRequests},
    {{.name = "repeat_last_n",
      .doc =
          "Number of latest tokens that count as recent for the three penalties; 0 and -1 switch "
          "them off.",
      .flags = "--repeat-last-n"},
     &S::penalty_last_n,
     {-1, kNoLimit}},
    {{.name = "dry_multiplier",
      .doc = "Strength of DRY, which makes tokens less likely that would continue a repetition; 0 "
             "switches it off.",
      .flags = "--dry-multiplier"},
     &S::dry_multiplier,
     {0, kNoLimit}},
    {{.name = "dry_base",
      .doc = "Factor of DRY's penalty for each further token of a repetition; 1 keeps the penalty "
             "constant.",
      .flags = "--dry-base"},
     &S::dry_base,
     {1, kNoLimit}},
    {{.name = "dry_allowed_length",
      .doc = "Length from which DRY penalizes repetitions; shorter ones have no penalty.",
      .flags = "--dry-allowed-length"},
     &S::dry_allowed_length,
     {0, kNoLimit}},
    {{.name = "dry_penalty_last_n",
      .doc =
          "Number of latest tokens in which DRY looks for repetitions; -1 means the whole text, 0 "
          "switches DRY off.",
      .flags = "--dry-penalty-last-n"},
     &S::dry_last_n,
     {-1, kNoLimit}},
    {{.name = "xtc_probability",
      .doc = "Probability with which XTC removes all likely tokens but one; 0 switches it off.",
      .flags = "--xtc-probability"},
     &S::xtc_probability,
     {0, 1}},
    {{.name = "xtc_threshold",
      .doc =
          "Probability from which a token is a likely one for XTC; above 0.5 nothing is removed.",
      .flags = "--xtc-threshold"},
     &S::xtc_threshold,
     {0, 1}},
    {{.name = "mirostat",
      .doc =
          "Version of Mirostat, 1 or 2, which replaces the stages that remove tokens; 0 switches "
          "it off.",
      .flags = "--mirostat"},
     &S::mirostat,
     {0, 2}},
    {{.name = "mirostat_tau",
      .doc = "Surprise in bits that Mirostat aims at; it has no effect if mirostat is 0.",
      .flags = "--mirostat-ent"},
     &S::mirostat_tau,
     {0, kNoLimit}},
    {{.name = "mirostat_eta",
      .doc = "Rate at which Mirostat corrects its bound; it has no effect if mirostat is 0.",
      .flags = "--mirostat-lr"},
     &S::mirostat_eta,
     {0, kNoLimit}},
    {{.name = "adaptive_target",
      .doc =
          "Probability that adaptive sampling prefers in chosen tokens; below 0 switches it off.",
      .flags = "--adaptive-target"},
     &S::adaptive_target,
     {-1, 1}},
    {{.name = "adaptive_decay",
      .doc =
          "Weight of each earlier token in adaptive sampling, relative to the next one; it has no "
          "effect if adaptive_target is below 0.",
      .flags = "--adaptive-decay"},
     &S::adaptive_decay,
     {0, 0.99}},
};

constexpr KnobText kSamplerTexts[] = {
    {.name = "seed",
     .doc = "Seed of the random numbers: the same seed gives the same text; -1 draws a new one.",
     .flags = "-s,--seed"},
    {.name = "samplers",
     .doc =
         "Order of the sampler's stages; those that are not named are switched off, all of them if "
         "it is empty.",
     .flags = "--samplers"},
    {.name = "logit_bias",
     .doc = "Amounts added to the logits of single tokens; minus infinity forbids a token.",
     .flags = "-l,--logit-bias"},
    {.name = "dry_sequence_breakers",
     .doc = "Texts that end repetitions for DRY: none reaches across a token with one of them; an "
            "empty list switches this off.",
     .flags = "--dry-sequence-breaker"},
};

}  // namespace

std::span<const Knob<SamplerOptions>> sampler_knobs() {
  return kSamplerKnobs;
}

std::span<const KnobText> sampler_texts() {
  return kSamplerTexts;
}

}  // namespace weft
