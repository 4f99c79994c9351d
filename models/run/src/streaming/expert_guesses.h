#pragma once
// Guesses which experts the router of the next layer will choose: those with the largest products
// of its weights with the input of this layer's experts. A layer changes the residual stream
// little, so most guesses are right, and their experts are read while this layer is computed.
// Biases and limits to groups of experts are ignored.
// Source: Eliseev and Mazur 2023, arXiv:2312.17238, section 3.2.

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "weft/backends/memory.h"
#include "weft/files/checkpoint.h"
#include "weft/graph/view.h"
#include "weft/run/residency.h"

namespace weft::run {

class ExpertGuesses {
 public:
  // A weight in memory; nothing for one that is not there all the time.
  using InMemory = std::function<View(std::string_view path)>;
  // The weights outlive it. Routers in the layout of kernels are copied: Residency::router_bytes.
  ExpertGuesses(const Checkpoint& file, const Residency& residency, const InMemory& in_memory);

  std::int64_t copied_bytes() const;
  // Whether the experts of a group can be guessed from inputs of the one before.
  bool has(std::size_t group) const { return routers_[group].weights != nullptr; }
  // Adds the group's experts that it would choose for row r of x [T, D], the input of the experts
  // of the group before. Does not allocate if `experts` has the capacity. REQUIRES: has(group).
  void add(std::size_t group, const View& x, std::int64_t r,
           std::vector<std::int32_t>& experts) noexcept;

 private:
  struct Router {
    const float* weights = nullptr;  // [X, D]
    // [D]: the norm of this layer by that of the layer before, whose output x is.
    std::vector<float> scales;
    std::int64_t n_experts = 0, n_chosen = 0;
  };
  // Null unless the weight has elements of type F32.
  const float* floats_of(const View& weight);
  struct Score {
    float value = 0;
    std::int32_t expert = 0;
  };

  std::vector<Router> routers_;  // by group
  std::vector<Buffer> copies_;
  std::vector<float> input_;
  std::vector<Score> scores_;
};

}  // namespace weft::run
