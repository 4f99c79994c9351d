#pragma once
// Converts a GGUF file to other element types. A mix, named as in llama.cpp ("Q4_K_M"), decides
// which tensor gets which type, with the same result as there. plan_quantize() computes the plan
// from the file's header; quantize_file() executes it, tensor by tensor and a few rows at a time,
// so that memory does not grow with the file. The bytes written do not depend on the number of
// workers.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/files/checkpoint.h"
#include "weft/graph/dtype.h"
#include "weft/quantize/imatrix.h"

namespace weft {

struct QuantizeOptions {
  std::string type;  // one of quantize_mixes(), in any case
  // Regular expression (weft/grammar/regex.h, found anywhere in a tensor's name) and type. The
  // first one that matches decides, for tensors that may be quantized at all. Each must match one.
  std::vector<std::pair<std::string, std::string>> tensor_types;
  // The types of output.weight and token_embd.weight; empty: those of the mix.
  std::string output_type, embedding_type;
  bool pure = false;          // the mix's main type for all
  bool leave_output = false;  // output.weight stays as it is
  // Tensors that are already quantized, or whose rows fit no type, stay as they are.
  bool keep_others = false;
  bool allow_requantize = false;     // also convert tensors that are already quantized
  bool nonfinite_to_zero = false;    // write 0 for NaN and infinity instead of refusing them
  const Imatrix* imatrix = nullptr;  // weights the errors; outlives every use of the options
};

struct QuantizedTensor {
  const CheckpointTensor* tensor = nullptr;  // the input's
  DType to;                                  // the tensor's own type: copied
  std::int64_t n_bytes = 0;                  // in the output
  bool weighted = false;                     // the importance matrix has an entry for it
  std::string note;      // why the type differs from the requested one; may be empty
  std::string obstacle;  // why it cannot be converted; empty if it can
  bool converts() const { return to != tensor->spec.dtype; }
};

struct QuantizePlan {
  std::vector<QuantizedTensor> tensors;    // in file order
  std::optional<std::uint32_t> file_type;  // general.file_type; none: as in the input
  std::int64_t n_weights = 0, bytes_before = 0, bytes_after = 0;  // totals of all tensors
  // Gaps in the importance matrix: entries of tensors whose new types weight errors, and rows of
  // experts. Lines for people, usually none.
  std::vector<std::string> warnings;
};

// "Q4_0", "Q4_K_M", ..., and aliases ("Q4_K").
std::vector<std::string_view> quantize_mixes();

// The value of general.file_type for a mix, or for the mix whose main type this is; in any case.
std::optional<std::uint32_t> file_type_of(std::string_view mix_or_type);

// Whether a product reads the rows of this tensor, so that an importance matrix has an entry for
// it. Not those that are only looked up (token_embd.weight, which may also be the output matrix),
// are added, or belong to convolutions.
bool is_multiplied(std::string_view name);

// Throws ValueError for unknown types and malformed patterns.
void check(const QuantizeOptions& options);

// Plans the conversion of a file, which outlives the plan. A reason why a single tensor cannot be
// converted (requantizing, a missing encoder, missing importances) becomes its obstacle. Throws
// ValueError for unknown types, patterns that are malformed or match nothing, and an importance
// matrix of another model; ShapeError for rows that are not whole blocks of a type without a
// substitute.
QuantizePlan plan_quantize(const Checkpoint& file, const QuantizeOptions& options);

struct QuantizeRun {
  int workers = 0;                       // 0: default_workers()
  std::function<bool(double)> progress;  // 0..1, on the caller's thread; false: CancelledError
  std::function<void(const QuantizedTensor&)> finished;  // after each tensor; same thread
};

// Writes the file; it appears under its name only when it is complete. Metadata is copied, except
// for the keys of split files; general.file_type, general.quantization_version and, with an
// imatrix, quantize.imatrix.* are set. Throws UnsupportedError or ValueError for the first
// obstacle, before anything is written; ValueError if the output is one of the input files;
// FormatError for weights that are not finite ("tensor 'x' holds nan at row 3, column 7") or exceed
// the range of F16 if that is their new type; IoError, CancelledError.
void quantize_file(const Checkpoint& file, const QuantizePlan& plan, const QuantizeOptions& options,
                   const QuantizeRun& run, const std::string& path);

}  // namespace weft
