#pragma once
// The importance matrix: how large the inputs of each weight are, column by column, over some text.
// Quantizers weigh the errors of a column by it. Two file forms are read:
//
//   GGUF    general.type "imatrix", imatrix.datasets (strings), imatrix.chunk_count and
//           imatrix.chunk_size (u32); per weight NAME the F32 tensors NAME.in_sum2 [cols, experts],
//           sums of squares, and NAME.counts [1, experts], how many rows they are sums of. (Fastest
//           dimension first.) This is the form that is written.
//   binary  the older one, without a magic, all little-endian: number of entries i32; per entry
//           name (length i32, bytes), number of calls i32, values (number i32, f32 each): mean
//           squares times the number of calls; then, or nothing more: chunks i32, dataset (length
//           i32, bytes).
//
// Files are hostile until checked: whatever does not fit ends in a FormatError that names the file,
// the place and the numbers. What is kept in memory is never larger than the file. A plain value;
// any number of threads may read one.

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
    std::vector<float> sums;           // of squares [experts, cols]; finite, not negative
    std::vector<std::int64_t> counts;  // rows that were summed: one for all, or one per expert
  };

  std::map<std::string, Entry, std::less<>> entries;  // by the weight's name in the model file
  std::vector<std::string> datasets;
  std::int64_t chunk_count = 0;  // pieces of text that were run
  std::int64_t chunk_size = 0;  // tokens of one; 0: unknown (the binary form), and counts are calls
                                // in place of rows
  std::string source;           // the file it came from, for messages; empty where it is new

  // Throws IoError, FormatError.
  static Imatrix read(const std::string& path);
  // The same over bytes in memory. `name` stands for the path in messages.
  static Imatrix parse(std::span<const std::byte> bytes, const std::string& name);

  // Mean squares [experts, cols] for a weight, one row per expert; ones for an expert that no row
  // reached. Empty where there is no entry for it. Throws ValueError where the entry has another
  // size, as that of another model has.
  std::vector<float> importances(std::string_view name, std::int64_t n_cols,
                                 std::int64_t n_experts = 1) const;

  // Adds the sums, counts and datasets of another one. Where that does not know its chunk size, it
  // is taken to be ours. Throws ValueError where an entry has another size, and leaves this one as
  // it was.
  void add(const Imatrix& other);

  // The GGUF form. Throw ValueError for a name that is too long for a file (kMaxName), or where the
  // chunk size is not known; write() throws IoError, and leaves nothing half-written.
  void write(const std::string& path) const;
  std::vector<std::byte> to_bytes() const;
  static constexpr std::size_t kMaxName = 64 - 8;  // ".in_sum2" follows it
};

}  // namespace weft
