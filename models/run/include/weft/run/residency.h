#pragma once
// Which weights of a session are in memory all the time, and which are read from disk while steps
// run, for models that are larger than their budget. A value, made from the file's header and the
// plans; the session allocates exactly these bytes.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/dtype.h"

namespace weft {

// A weight that every step reads as a whole. They are read in this order, again and again, each
// into its place in a ring. Those that the plans read in the same stage have no bytes in common.
struct StreamedWeight {
  std::string path;
  std::int64_t bytes = 0;  // that it has in the file
  std::int64_t offset =
      0;  // where its place in the ring begins, which has room for whole blocks of the disk
  std::int64_t place = 0;  // bytes of the place
  friend bool operator==(const StreamedWeight&, const StreamedWeight&) = default;
};

// Weights of experts that the same ids choose: those of one layer. An expert's matrices are kept
// together, in a slot of the cache.
struct ExpertGroup {
  std::vector<std::string> paths;
  std::int64_t n_experts = 0;
  std::int64_t first = 0;         // the id of the first one (ExpertLinearAttrs)
  std::int64_t n_chosen = 0;      // by a token
  std::int64_t max_tokens = 0;    // that a step may have
  std::int64_t expert_bytes = 0;  // the matrices of one expert
  std::int32_t slots = 0;         // index of SlotClass
  // Weights [X, D] of the router and [D] of the norm before it, from which the choices of the next
  // layer are guessed. Empty: unknown.
  std::string router = {}, router_norm = {};
  std::int64_t router_bytes = 0;  // that a copy of the router takes, if guesses need one
  friend bool operator==(const ExpertGroup&, const ExpertGroup&) = default;
};

// Slots of one size, which the groups whose experts have that size share.
struct SlotClass {
  std::int64_t slot_bytes = 0;
  std::int64_t n_experts = 0;  // in all its groups
  std::int64_t min_slots = 0;  // for all experts that may be needed at the same time
  std::int64_t n_slots = 0;
  friend bool operator==(const SlotClass&, const SlotClass&) = default;
};

struct Residency {
  std::vector<StreamedWeight> streamed;
  std::int64_t ring_bytes = 0;
  std::vector<ExpertGroup> groups;  // in the order in which steps read them
  std::vector<SlotClass> slots;

  bool empty() const { return streamed.empty() && groups.empty(); }
  std::int64_t cache_bytes() const;
  // Whether the experts of a group are guessed from the group before.
  bool guesses(std::size_t group) const {
    return group > 0 && !groups[group].router.empty() && !groups[group - 1].router.empty();
  }
  std::int64_t router_bytes() const;  // copies of routers for guesses
  std::int64_t bytes() const { return ring_bytes + cache_bytes() + router_bytes(); }  // in memory
  std::int64_t streamed_bytes() const;  // that every step reads in order
  std::int64_t expert_bytes() const;    // all experts together
  double cached_share() const;          // what part of the experts, 0..1
  friend bool operator==(const Residency&, const Residency&) = default;
};

// Where steps find a weight.
enum class WeightPlace : std::uint8_t {
  resident,  // in memory all the time
  mapped,    // in pages of the file, which steps read as a whole
  rows,      // in pages of the file, of which steps read some rows
  streamed,  // in the ring
  cached,    // experts of it, in the cache
};
std::string_view to_string(WeightPlace place);

struct PlacedTensor {
  std::string name;
  DType dtype;  // as steps read it
  std::int64_t bytes = 0;
  WeightPlace place = WeightPlace::resident;
};
struct PlannedModel;
class Model;
// In the order of the file.
std::vector<PlacedTensor> placed_tensors(const Model& model, const PlannedModel& planned);

// What a session has read while its steps ran, since it was opened.
struct StreamStats {
  struct Group {
    std::int64_t hits = 0, misses = 0;  // experts that steps needed, by whether they were in memory
    std::int64_t wait_ns = 0;           // the sum of all lanes
    // Missing experts that were expected to be chosen soon, and how many of them were.
    std::int64_t guesses = 0, right_guesses = 0;

    double hit_rate() const {  // 1 if no experts were needed
      const auto needed = static_cast<double>(hits + misses);
      return needed > 0 ? static_cast<double>(hits) / needed : 1;
    }
    friend bool operator==(const Group&, const Group&) = default;
  };
  std::vector<Group> groups;  // as in the residency
  std::int64_t wait_ns = 0;   // for streamed weights, the sum of all lanes
  std::int64_t bytes_read = 0;
  std::string reader;  // "io_uring, direct"

  StreamStats& operator+=(const StreamStats& more);  // those of another time
  // The difference to earlier statistics of the same session.
  StreamStats since(const StreamStats& before) const;
  Group all_groups() const;
  std::int64_t total_wait_ns() const { return wait_ns + all_groups().wait_ns; }
};

}  // namespace weft
