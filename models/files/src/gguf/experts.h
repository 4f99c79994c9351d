#pragma once
// Older files of mixtures of experts have a tensor for each matrix of each expert,
// "blk.3.ffn_gate.7.weight". They are read like newer files, with one tensor for all experts:
// "blk.3.ffn_gate_exps.weight".

#include "file_part.h"

namespace weft::gguf {

// Throws FormatError "FILE: tensor 'x' ..." if the matrices of some experts are missing or differ
// in type or shape.
void stack_experts(files::OpenedFiles& files);

}  // namespace weft::gguf
