#pragma once
// Measures how fast a model's file can be read while steps run, by the number of reads in progress
// and their size.

#include <string>
#include <vector>

#include "weft/base/tuned_values.h"
#include "weft/measure/read_speed.h"

namespace weft::bench {

struct MeasuredReads {
  std::string reader;             // "io_uring, direct"
  std::vector<ReadSpeed> speeds;  // the standard first
  ReadSpeed best;                 // the standard unless another one is clearly faster
};

// Reads pieces at random places of the file, for about `seconds` altogether. Throws IoError.
MeasuredReads measure_reads(const std::string& path, double seconds);

// The best values, as sessions look for them (weft/run/read_choices.h).
TunedValues best_values(const MeasuredReads& measured);

}  // namespace weft::bench
