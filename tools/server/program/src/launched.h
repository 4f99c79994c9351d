#pragma once
// A server that a launcher of MPI started as one of several ranks: rank 0 answers requests, the
// others compute for it.

#include "weft/program/flags.h"

namespace weft::server {

// Blocks the signals that ask a server to end, in all threads that are made from now on. Call it
// before anything asks which rank this is: MPI has threads of its own.
void block_signals();

// Whether this process is one of several ranks.
bool is_launched();

// Computes for rank 0 until that ends, and returns the exit code. Signals to end have no effect:
// rank 0 finishes its requests with the help of this rank. Nothing is printed if rank 0 is lost, or
// if it refuses the flags, too: it or the launcher says why. Throws like Model::load().
int follow(const Flags& flags);

}  // namespace weft::server
