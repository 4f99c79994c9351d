#include "generate/program.h"

int main(int argc, char** argv) {
  return weft::generate::run_program(argc, argv);
}
