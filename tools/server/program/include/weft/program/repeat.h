#pragma once
// Computes the answer to a recorded request again.

#include <string>

namespace weft::server {

// Prints the body of the answer to stdout. Returns 1, and says so on stderr, if it differs from the
// record's in more than ids, times and cached tokens. Throws like read_record() and Model::load().
int repeat(const std::string& file, const std::string& version);

}  // namespace weft::server
