#pragma once
// GGUF to GGUF with other element types. A mix, named as llama.cpp names it ("Q4_K_M"), says which
// tensor gets which type; what it gives to whom is the same there. plan_quantize() tells it all
// from the file's header; quantize_file() does it, tensor by tensor and a few rows at a time, so
// that memory does not grow with the file. The bytes written do not depend on the number of
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
  // Regular expression (ECMAScript, found anywhere in a tensor's name) and type. The first one that
  // matches decides, for tensors that may be quantized at all.
  std::vector<std::pair<std::string, std::string>> tensor_types;
  std::string output_type, embedding_type;  // of output.weight, token_embd.weight; empty: the mix's
  bool pure = false;                        // the mix's main type for all
  bool leave_output = false;                // output.weight stays as it is
  // Tensors that are quantized already, or whose rows fit no type, stay as they are.
  bool keep_others = false;
  bool allow_requantize = false;     // tensors that are quantized already, too
  bool nonfinite_to_zero = false;    // write 0 for NaN and infinity; else they are refused
  const Imatrix* imatrix = nullptr;  // weighs errors; outlives what is done with the options
};

struct QuantizedTensor {
  const CheckpointTensor* tensor = nullptr;  // of the input
  DType to;                                  // the same type: copied
  std::int64_t n_bytes = 0;                  // in the output
  bool weighted = false;                     // importances are known
  std::string note;                          // why it is another type than asked for; may be empty
  std::string obstacle;                      // why it cannot be done; empty where it can
  bool converts() const { return to != tensor->spec.dtype; }
};

struct QuantizePlan {
  std::vector<QuantizedTensor> tensors;    // in file order
  std::optional<std::uint32_t> file_type;  // general.file_type; none: as in the input
  std::int64_t n_weights = 0, bytes_before = 0, bytes_after = 0;  // of tensors
};

// "Q4_0", "Q4_K_M", ..., and aliases ("Q4_K").
std::vector<std::string_view> quantize_mixes();

// Number in general.file_type of a mix, or of the mix that gives most tensors this type; any case.
std::optional<std::uint32_t> file_type_of(std::string_view mix_or_type);

// Throws ValueError for unknown types and bad expressions.
void check(const QuantizeOptions& options);

// What the options make of a file that outlives the plan. What stands in the way of single tensors
// (requantizing, an encoder that is missing, importances that are) becomes their obstacle. Throws
// ValueError for unknown types and bad expressions, ShapeError for rows that are no whole blocks of
// a type that has no stand-in, ValueError where importances are of another model.
QuantizePlan plan_quantize(const Checkpoint& file, const QuantizeOptions& options);

struct QuantizeRun {
  int workers = 0;                       // 0: default_workers()
  std::function<bool(double)> progress;  // 0..1, on the caller's thread; false: CancelledError
  std::function<void(const QuantizedTensor&)> finished;  // when a tensor is written; same thread
};

// Writes the file; it appears under its name only when it is complete. Metadata is copied, that of
// splitting left out; general.file_type, general.quantization_version and, with an imatrix,
// quantize.imatrix.* are set. Throws UnsupportedError or ValueError for the first obstacle, before
// anything is written; ValueError where the output is one of the input files; FormatError for
// weights that are not finite ("tensor 'x' holds nan at row 3, column 7"), or not within the range
// of F16 where that is to hold them; IoError, CancelledError.
void quantize_file(const Checkpoint& file, const QuantizePlan& plan, const QuantizeOptions& options,
                   const QuantizeRun& run, const std::string& path);

}  // namespace weft
