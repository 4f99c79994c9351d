#pragma once
// Memory accounting: how many bytes may be used, and how many are used for each purpose. Covers all
// memory of a model and its sessions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// "6G", "512MiB", "1.5 GB", "4096": K, M, G and T are powers of 1024 with or without "iB", "B";
// spaces may stand before the unit. Throws ValueError for anything else, and for sizes past 2^62.
std::int64_t parse_size(std::string_view text);

// The default memory budget of this process: the minimum of the control group's memory limit
// (version 1 and 2) and of the memory available without swapping (MemAvailable). `held` is added to
// the latter: bytes that the process already has and that the budget covers. INT64_MAX if neither
// is known.
std::int64_t default_budget(std::int64_t held = 0);

// The memory limit of this process' control group (version 1 and 2), if it has one. The kernel
// charges to it also what no budget has: page tables, and pages of files that were first read here.
std::optional<std::int64_t> group_memory_limit();

// Bytes by purpose. Prediction and allocation both fill this struct, and the two are compared.
struct MemoryUse {
  std::int64_t weights_mapped = 0;    // in the file's pages, which the system may evict and reload
  std::int64_t weights_resident = 0;  // in private copies, repacked or converted
  std::int64_t weights_streamed = 0;  // memory for weights that are read from disk by turns
  std::int64_t state = 0;             // KV caches
  std::int64_t arena = 0;             // activations
  std::int64_t scratch = 0;           // kernels' working memory, all lanes
  std::int64_t program = 0;           // the process: code, libraries, vocabulary, graphs, plans
  // What the caller reserved, what guesses of tokens take, and the ids of the tokens of sequences.
  std::int64_t other = 0;
  // In the memory of devices (weights, caches, activations, scratch). Not part of total(), which
  // counts host memory.
  std::int64_t device = 0;
  // The parts of `state`, the largest first: "all tokens", "last 512 tokens", "recurrent
  // states".
  struct Named {
    std::string name;
    std::int64_t bytes = 0;
    friend bool operator==(const Named&, const Named&) = default;
  };
  std::vector<Named> states = {};

  // Adds the use of another session; states of the same kind are added up.
  MemoryUse& operator+=(const MemoryUse& more);
  std::int64_t total() const;  // saturates at INT64_MAX
  // The purposes that take bytes, "state" by kind: "state: all tokens". They add up to total().
  std::vector<Named> lines() const;
  std::string to_text() const;  // these with their shares, then the total
  friend bool operator==(const MemoryUse&, const MemoryUse&) = default;
};

}  // namespace weft
