#pragma once
// Flags that restrict the generated text and where it ends.

#include <string>
#include <vector>

#include "weft/chat/constraint.h"
#include "weft/run/model.h"
#include "weft/serve/text_rules.h"

#include "common/app.h"

namespace weft::cli {

struct ConstraintFlags {
  std::string grammar, grammar_file, json_schema, json_schema_file, regex;
  bool open_schema = false;
  std::vector<std::string> stops, banned;
};
void add_constraint_flags(App& app, ConstraintFlags& flags);

// The constraint of the flags. Throws IoError for a file that cannot be read.
Constraint read_constraint(const ConstraintFlags& flags);

// The rules that the flags ask for. Throws like Grammar.
TextRulesOptions text_rules(const Model& model, const ConstraintFlags& flags);

}  // namespace weft::cli
