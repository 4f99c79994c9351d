#include "ranks/open_for_rank.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/base/error.h"
#include "weft/base/hash.h"
#include "weft/base/printable.h"
#include "weft/files/rank_file.h"

namespace weft::run {
namespace {

namespace fs = std::filesystem;

bool is_absent(const Checkpoint& file) {
  return std::ranges::any_of(file.tensors(), &CheckpointTensor::absent);
}

// Throws ValueError unless the file is for this sharding.
void check_sharding(const Checkpoint& file, const RankFileFacts& facts, const Sharding& sharding) {
  if (facts.sharding == to_string(sharding) && facts.ranks == sharding.ranks() &&
      facts.min_elems == sharding.min_elems)
    return;
  const std::string has =
      fmt::format("{}: the part of rank {} of a model divided by {}", printable_path(file.path()),
                  facts.rank, printable(facts.sharding));
  if (sharding.ranks() == 1)
    fail<ValueError>("{}; give --shard {}, or the whole model", has, printable(facts.sharding));
  if (facts.sharding == to_string(sharding))
    fail<ValueError>("{} from {} elements of a projection on, expected {}", has, facts.min_elems,
                     sharding.min_elems);
  fail<ValueError>("{}, expected {}", has, to_string(sharding));
}

// The facts of the file of this rank. Throws ValueError if that is the file of another one.
void check_rank(const Checkpoint& file, const RankFileFacts& facts, int rank) {
  if (facts.rank != rank)
    fail<ValueError>("{}: the part of rank {} of {}, expected that of rank {}",
                     printable_path(file.path()), facts.rank, printable(facts.sharding), rank);
}

// The file of this rank if the path is a folder with files of several ranks, else the path.
std::string path_of_rank(const std::string& path, const Sharding& sharding, int rank) {
  if (sharding.ranks() == 1) return path;
  const std::vector<std::string> names = rank_files_in(path);
  if (names.empty()) return path;
  const std::string own = rank_file_name(rank, sharding.ranks());
  if (std::ranges::find(names, own) == names.end())
    fail<IoError>("{}: has no {}, which rank {} of {} needs, only {}", printable_path(path), own,
                  rank, to_string(sharding), printable(fmt::format("{}", fmt::join(names, ", "))));
  return (fs::path(path) / own).string();
}

}  // namespace

Checkpoint open_for_rank(const std::string& path, const ModelOptions& options, int rank) {
  return Checkpoint::open(
      path_of_rank(path, options.sharding, rank),
      {.allow_unknown_settings = options.allow_unknown_settings, .rank_files = true});
}

Checkpoint model_for_rank(const Checkpoint& file, const Sharding& sharding, int rank) {
  const auto facts = rank_file_facts(file);
  if (!facts) return file;
  check_sharding(file, *facts, sharding);
  if (facts->rank == rank) return is_absent(file) ? file : model_of_rank_file(file);
  const std::string folder = fs::path(file.path()).parent_path();
  if (fs::path(file.path()).filename() != rank_file_name(facts->rank, sharding.ranks()))
    check_rank(file, *facts, rank);
  const Checkpoint own = Checkpoint::open(
      path_of_rank(folder.empty() ? "." : folder, sharding, rank), {.rank_files = true});
  const auto own_facts = rank_file_facts(own);
  if (!own_facts) fail<ValueError>("{}: not the file of a rank", printable_path(own.path()));
  check_sharding(own, *own_facts, sharding);
  check_rank(own, *own_facts, rank);
  return model_of_rank_file(own);
}

std::uint64_t sample_of_weights(const Checkpoint& file) {
  constexpr std::int64_t kSampleBytes = 4096;
  if (const auto facts = rank_file_facts(file)) return facts->sample;
  Fnv1a64 hash;
  for (const CheckpointTensor& t : file.tensors())
    if (t.data)
      hash.add(std::span(t.data, static_cast<std::size_t>(std::min(t.n_bytes, kSampleBytes))));
  return hash.value();
}

}  // namespace weft::run
