#pragma once
// Values that were measured on this machine, such as the distance of a prefetch. They change speed
// only, never a result. `weft tune` measures and stores them; each layer has names for its own.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct TunedValue {
  std::string name;  // "prefetch.q4_k.1", without spaces
  std::int64_t value = 0;
  double gain = 1;  // measured speed divided by that with the standard value
};

class TunedValues {
 public:
  TunedValues() = default;
  explicit TunedValues(std::vector<TunedValue> values) : values_(std::move(values)) {}

  // Null if it was not measured.
  const TunedValue* find(std::string_view name) const;
  const std::vector<TunedValue>& all() const { return values_; }

  // A text of lines. `machine` identifies the machine on which the values depend.
  std::string to_text(std::string_view machine) const;
  // The values in a text of to_text(); none if it is damaged, or of another version or machine.
  static TunedValues parse(std::string_view text, std::string_view machine);

 private:
  std::vector<TunedValue> values_;
};

// The processor and the number of its cores in words: "AMD EPYC 9754 128-Core Processor x2".
std::string processor_name();

// $XDG_CACHE_HOME/weft, by default ~/.cache/weft; empty if neither variable is an absolute path.
// https://specifications.freedesktop.org/basedir-spec
std::filesystem::path cache_folder();

// The values for this processor and an instruction set are stored in this file; empty if there is
// no place. Several machines may share a folder.
std::filesystem::path tuned_path(std::string_view instruction_set);
// The machine that a text of tuned values must name.
std::string tuned_machine(std::string_view instruction_set);
// The values in the file; none if it cannot be read. None with WEFT_TUNE=off; throws ValueError if
// WEFT_TUNE has another value.
TunedValues stored_values(std::string_view instruction_set);

}  // namespace weft
