#pragma once
// The program `chat`.

namespace weft::chat {

// What main() does; the exit code.
int run_program(int argc, char** argv);

}  // namespace weft::chat
