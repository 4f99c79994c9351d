#include "ranks/rank_files.h"

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
#include "weft/run/rank_files.h"

#include "model_impl.h"

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

}  // namespace

std::string path_of_rank(const std::string& path, const Sharding& sharding, int rank) {
  const std::vector<std::string> names = rank_files_in(path);
  if (names.empty()) return path;
  const auto in_folder = [&](const std::string& name) { return (fs::path(path) / name).string(); };
  if (sharding.ranks() == 1) return in_folder(names.front());
  const std::string own = rank_file_name(rank, sharding);
  if (std::ranges::find(names, own) == names.end())
    fail<IoError>("{}: has no {}, which rank {} of {} needs, only {}", printable_path(path), own,
                  rank, to_string(sharding), printable(fmt::format("{}", fmt::join(names, ", "))));
  return in_folder(own);
}

Checkpoint model_for_rank(const Checkpoint& file, const Sharding& sharding, int rank) {
  const auto facts = rank_file_facts(file);
  if (!facts) return file;
  check_sharding(file, *facts, sharding);
  if (facts->rank == rank) return is_absent(file) ? file : model_of_rank_file(file);
  const std::string folder = fs::path(file.path()).parent_path();
  if (fs::path(file.path()).filename() != rank_file_name(static_cast<int>(facts->rank), sharding))
    check_rank(file, *facts, rank);
  const Checkpoint own =
      Checkpoint::open(path_of_rank(folder.empty() ? "." : folder, sharding, rank));
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

namespace weft {

std::string rank_file_name(int rank, const Sharding& sharding) {
  return rank_file_name(std::int64_t{rank}, std::int64_t{sharding.ranks()});
}

void write_rank_file(const Model& model, const Sharding& sharding, int rank,
                     const std::string& path, const std::function<bool(double)>& progress) {
  const Checkpoint& file = model.file();
  write_rank_file(file, model.impl().parts_of_rank(sharding, rank),
                  {.sharding = to_string(sharding),
                   .min_elems = sharding.min_elems,
                   .rank = rank,
                   .ranks = sharding.ranks(),
                   .sample = run::sample_of_weights(file)},
                  path, progress);
}

}  // namespace weft
