#pragma once
// Computes the answer to a traced request again.

#include <string>

namespace weft::server {

// Prints the body of the answer to stdout. Returns 1, and says so on stderr, if it differs from the
// trace's in more than ids, times and cached tokens. Throws like read_trace() and Model::load().
int replay(const std::string& file, const std::string& version);

}  // namespace weft::server
