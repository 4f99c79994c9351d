#pragma once
// Modules of sentence-transformers that follow pooling: config.json and model.safetensors of each.
//
//   Dense       in_features, out_features, bias (true), activation_function (Tanh),
//               module_input_name, module_output_name, use_residual
//   Normalize   module_input_name, module_output_name; a module without a file has the defaults

#include <string>

#include "checkpoint_builder.h"
#include "safetensors/modules/modules.h"

namespace weft::safetensors {

// The module in this folder, without a name. `pooled`: it must read the vector of the text, and
// otherwise those of the tokens. Throws FormatError "FILE: ..." for missing and wrong keys and for
// tensors that do not fit; UnsupportedError for activations that Weft does not have, for
// use_residual, and for weights that are only in pytorch_model.bin.
DenseModule read_dense_module(const std::string& folder, bool pooled);

// Adds the bias, and returns the weight. The caller sets its `part`. Its data is in the file.
CheckpointTensor add_dense(const DenseModule& dense, files::CheckpointBuilder& builder);

// Adds the activations of the layers, unless none has one.
void add_activations(const Modules& modules, MetadataSink& sink);

// Throws the same for inputs and outputs of the module Normalize.
void check_normalize_module(const std::string& folder, bool pooled);

}  // namespace weft::safetensors
