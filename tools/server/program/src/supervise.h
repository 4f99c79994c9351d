#pragma once
// A process that starts a command, passes signals on to it, and starts it again if it fails.

#include <string>
#include <string_view>
#include <vector>

namespace weft::server {

// The words of a command as a shell reads them: separated by spaces, quoted by '...' or "...", with
// \ before a character that means itself. Nothing is expanded: throws ValueError for characters
// that a shell would expand or that join commands, and for a quote that is not closed.
std::vector<std::string> split_words(std::string_view command);

// Starts the command with the signals as they are by default, and passes on SIGTERM, SIGINT and
// SIGHUP. Returns its exit code when it ends; of a signal: 128 and its number. With `restart`, it
// is started again, and a line on stderr says why, unless it was asked to end, ended with 0 because
// somebody else asked it to, or refused its arguments (2). Throws IoError if it cannot be started.
int supervise(const std::vector<std::string>& command, bool restart);

}  // namespace weft::server
