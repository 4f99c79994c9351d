#pragma once
// The program `generate`.

namespace weft::generate {

// What main() does; the exit code.
int run_program(int argc, char** argv);

}  // namespace weft::generate
