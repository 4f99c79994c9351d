#pragma once
// A weight cache from which weights are streamed: kernels are then as fast as with weights that are
// in memory all the time. Sessions with resident weights of the same layout use the same file
// (weight_cache.h). When it is opened, its header and the first rows of each weight are checked.

#include <string>

#include "weft/files/checkpoint.h"
#include "weft/files/identity.h"
#include "weft/files/mapped_file.h"

#include "streaming/weight_files.h"
#include "weights/weight_cache.h"
#include "weights/weight_loader.h"

namespace weft::run {

class PackedFile {
 public:
  // The file for these weights in a folder. Opens nothing. The model outlives it.
  PackedFile(const std::string& folder, const Checkpoint& model, WeightLayout layout)
      : model_(model), layout_(std::move(layout)), cache_(folder, model, layout_) {}

  const std::string& path() const { return cache_.path(); }
  WeightFiles files() const { return {path(), layout_, WeightCache::kRegionAt}; }
  // Whether kernels want another layout than the model's file has.
  bool is_useful() const { return layout_.changes_types; }
  // Why it cannot be made: "DIR has room for 3.0 GiB, 17.0 GiB are needed". Empty if it can be
  // made, or is there.
  std::string obstacle() const;

  // Maps the file; makes it first if it cannot be used, with some MB of a weight in memory. Throws
  // IoError, CancelledError, and any exception of the progress.
  MappedFile open(Identity& identity, const LoadOptions& options) const;

 private:
  void write_region(const WeightCache::Write& write, const LoadOptions& options) const;

  const Checkpoint& model_;
  const WeightLayout layout_;
  const WeightCache cache_;
};

}  // namespace weft::run
