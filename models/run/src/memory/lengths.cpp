#include "memory/lengths.h"

#include "weft/base/error.h"

namespace weft::run {

void Lengths::check(std::int64_t sequence) const {
  if (sequence < 0 || sequence >= n_sequences())
    fail<ValueError>("no sequence {}: the session has {}", sequence, n_sequences());
}

void Lengths::check_grows(std::int64_t sequence) const {
  check(sequence);
  if (sequence >= limits_.sequences)
    fail<ValueError>("sequence {} only keeps what was copied to it: copy it to one of the first {}",
                     sequence, limits_.sequences);
}

void Lengths::check_length(std::int64_t sequence, std::int64_t length) const {
  check(sequence);
  if (length < 0) fail<ValueError>("sequence {} cannot have {} tokens", sequence, length);
  if (length > limits_.context)
    fail<ValueError>("sequence {} would have {} tokens, its context holds {}", sequence, length,
                     limits_.context);
}

}  // namespace weft::run
