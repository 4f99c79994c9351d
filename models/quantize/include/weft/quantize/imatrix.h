#pragma once
// The importance matrix: the mean square of each weight's inputs over some text, column by column.
// Quantizers weight the errors of a column by it. Two file formats are read:
//
//   GGUF    general.type "imatrix", imatrix.datasets (strings), imatrix.chunk_count and
//           imatrix.chunk_size (u32); per weight NAME the F32 tensors NAME.in_sum2 [cols, experts],
//           sums of squares, and NAME.counts [1, experts], the number of rows summed. (Fastest
//           dimension first.) This is the format that is written.
//   binary  the older one, without a magic, all little-endian: number of entries i32; per entry
//           name (length i32, bytes), number of calls i32, values (number i32, f32 each): mean
//           squares times the number of calls; then, optionally: chunks i32, dataset (length
//           i32, bytes).
//
// Files are hostile until checked: any inconsistency is a FormatError that names the file, the
// place and the numbers. Memory use never exceeds the size of the file. A plain value; any number
// of threads may read one.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct Imatrix {
  struct Entry {
    std::vector<float> sums;           // sums of squares [experts, cols]; finite, not negative
    std::vector<std::int64_t> counts;  // rows that were summed: one for all, or one per expert
  };

  std::map<std::string, Entry, std::less<>> entries;  // by the weight's name in the model file
  std::vector<std::string> datasets;
  std::int64_t chunk_count = 0;  // pieces of text
  // Tokens per chunk; 0: unknown (the binary format), and counts are calls instead of rows.
  std::int64_t chunk_size = 0;
  std::string source;  // the file it came from, for messages; empty if it is new

  // Throws IoError, FormatError.
  static Imatrix read(const std::string& path);
  // The same over bytes in memory. `name` stands for the path in messages.
  static Imatrix parse(std::span<const std::byte> bytes, const std::string& name);

  // Mean squares [experts, cols] for a weight, one row per expert; ones for an expert that received
  // no rows. Empty if the weight has no entry. Throws ValueError if the entry has another size,
  // which means that it belongs to another model.
  std::vector<float> importances(std::string_view name, std::int64_t n_cols,
                                 std::int64_t n_experts = 1) const;

  // Adds the sums, counts and datasets of another matrix. If that one does not know its chunk size,
  // ours is assumed. Throws ValueError, and changes nothing, if an entry has another size.
  void add(const Imatrix& other);

  // The GGUF format. Both throw ValueError if a name is too long for a file (kMaxName) or if the
  // chunk size is unknown; write() throws IoError, and never leaves a partial file.
  void write(const std::string& path) const;
  std::vector<std::byte> to_bytes() const;
  static constexpr std::size_t kMaxName = 64 - 8;  // ".in_sum2" follows it
};

}  // namespace weft
