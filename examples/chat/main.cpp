#include "chat/program.h"

int main(int argc, char** argv) {
  return weft::chat::run_program(argc, argv);
}
