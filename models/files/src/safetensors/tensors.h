#pragma once
// Turns the tensors of the shards into those of the GGUF file.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint_builder.h"
#include "safetensors/arrange.h"
#include "safetensors/config/config.h"
#include "safetensors/shards.h"

namespace weft::safetensors {

using RowRuns = std::deque<std::vector<RowRun>>;

class Tensors {
 public:
  // Vectors, which are F32 in GGUF files, go to the builder. REQUIRES: all outlive the object.
  Tensors(const Config& config, std::span<const Shard> shards, files::CheckpointBuilder& builder)
      : config_(config), shards_(shards), builder_(builder) {}

  // Adds the tensors of all shards. Throws FormatError "SHARD: tensor 'x': ..." for tensors that
  // the architecture does not have or that do not fit.
  void add_all();

  // Adds a matrix of some rows of another one, if there is that one. To be called after add_all().
  void add_rows(const std::string& name, std::string_view from, std::span<const std::int64_t> rows);

  bool has(const std::string& name) const { return names_.contains(name); }
  // In the order in which steps use them. Their names and runs are kept by the builder and by
  // runs().
  const std::vector<CheckpointTensor>& matrices() const { return matrices_; }
  std::shared_ptr<const RowRuns> runs() const { return runs_; }

 private:
  struct Piece {
    const StoredTensor* stored = nullptr;
    std::size_t shard = 0;
  };

  template <class E = FormatError, class... Args>
  [[noreturn]] void refuse(const Piece& piece, fmt::format_string<Args...> text,
                           Args&&... args) const;
  void add(const Piece& piece);
  void add(const Piece& piece, const TensorRole& role);
  void add_experts(const std::string& name, const std::map<std::int64_t, Piece>& experts);
  void place(const TensorRole& role, CheckpointTensor tensor, std::vector<RowRun> runs);
  CheckpointTensor stored_tensor(const Piece& piece) const;
  std::vector<float> floats_of(const Piece& piece, const CheckpointTensor& tensor,
                               const Arranged& arranged) const;

  const Config& config_;
  std::span<const Shard> shards_;
  files::CheckpointBuilder& builder_;
  std::set<std::string> names_;  // the names of all tensors, as in GGUF files
  std::map<std::string, std::map<std::int64_t, Piece>> experts_;
  std::map<std::string, std::uint32_t, std::less<>> order_;
  std::vector<CheckpointTensor> matrices_;
  std::shared_ptr<RowRuns> runs_ = std::make_shared<RowRuns>();
};

}  // namespace weft::safetensors
