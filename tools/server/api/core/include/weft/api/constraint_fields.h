#pragma once
// The fields that constrain an answer, in the names of OpenAI, llama-server and vLLM.

#include <optional>
#include <string>
#include <vector>

#include "weft/api/fields.h"
#include "weft/api/forms.h"
#include "weft/chat/constraint.h"

namespace weft::api {

struct ConstraintFields {
  std::vector<Constraint> constraints;  // one per field of the request
};

// grammar, json_schema, guided_*, structured_outputs.
const Fields<ConstraintFields>& constraint_fields();
// OpenAI's response_format.
Form<Constraint> response_format_form();

// The one constraint, or none. Throws ApiError 400 for several.
Constraint only_constraint(const std::vector<Constraint>& constraints);

}  // namespace weft::api
