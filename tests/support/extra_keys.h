#pragma once
// For tests: keys that made models of some architectures need beyond those that MadeSource::learn()
// chooses.

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "weft/arch/made_source.h"

namespace weft::test {

using ExtraKeys = std::vector<std::pair<std::string_view, arch::MadeSource::Value>>;

// By architecture; "{}" stands for its name.
inline const std::map<std::string_view, ExtraKeys>& extra_keys() {
  using List = std::vector<std::int64_t>;
  static const ExtraKeys kStateSpace{{"{}.ssm.inner_size", 128},
                                     {"{}.ssm.conv_kernel", 4},
                                     {"{}.ssm.state_size", 16},
                                     {"{}.ssm.time_step_rank", 8},
                                     {"{}.ssm.group_count", 2}};
  static const std::map<std::string_view, ExtraKeys> kAll{
      {"apertus",
       {{"xielu.alpha_p", 0.5}, {"xielu.alpha_n", 0.5}, {"xielu.beta", 0.5}, {"xielu.eps", 0.0}}},
      {"bailingmoe3", {{"{}.kda.gate_lower_bound", -5.0}}},
      {"chameleon", {{"{}.vocab_size", 8200}}},
      {"falcon-h1", kStateSpace},
      {"granitehybrid", kStateSpace},
      {"graniteswitch",
       {{"{}.adapters.count", 2},
        {"{}.adapters.token_ids_activate", List{3, 4}},
        {"{}.adapters.token_ids_substitute", List{5, 6}}}},
      {"grovemoe", {{"{}.experts_per_group", 2}, {"{}.expert_group_scale", 0.5}}},
      {"jamba", kStateSpace},
      {"mamba", kStateSpace},
      {"mamba2", kStateSpace},
      {"minimax-01", {{"{}.residual_scale", 1.0}}},
      {"minimax-m3", {{"{}.attention.indexer.head_count", 2}}},
      {"nemotron_h", kStateSpace},
      {"nemotron_h_moe", kStateSpace},
      {"plamo2", kStateSpace},
  };
  return kAll;
}

inline void set_extra_keys(arch::MadeSource& source, std::string_view architecture) {
  const auto found = extra_keys().find(architecture);
  if (found == extra_keys().end()) return;
  for (const auto& [key, value] : found->second)
    source.keys[fmt::format(fmt::runtime(key), architecture)] = value;
}

}  // namespace weft::test
