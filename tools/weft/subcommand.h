#pragma once
// What every subcommand of the program `weft` shares.

#include "common/program.h"

namespace weft::tools {

// `run` gets the arguments from the subcommand's name on and returns the exit code. Errors leave it
// as exceptions: main prints them.
struct Subcommand {
  const char* name;
  const char* summary;
  int (*run)(int argc, char** argv);
};

using cli::parse_flags;

int backends(int argc, char** argv);
int bench(int argc, char** argv);
int bisect(int argc, char** argv);
int codec(int argc, char** argv);
int convert(int argc, char** argv);
int dot(int argc, char** argv);
int embed(int argc, char** argv);
int grammar(int argc, char** argv);
int imatrix(int argc, char** argv);
int inspect(int argc, char** argv);
int limits(int argc, char** argv);
int logits(int argc, char** argv);
int new_model_check(int argc, char** argv);
int perplexity(int argc, char** argv);
int plan(int argc, char** argv);
int quantize(int argc, char** argv);
int profile(int argc, char** argv);
int selftest(int argc, char** argv);
int render_template(int argc, char** argv);
int tokenize(int argc, char** argv);
int trace(int argc, char** argv);
int trace_diff(int argc, char** argv);
int verify(int argc, char** argv);

}  // namespace weft::tools
