#pragma once
// The chat templates of a directory.

#include <string>

#include "weft/files/metadata.h"

#include "safetensors/json.h"

namespace weft::safetensors {

// Adds tokenizer.chat_template and, for a template named "tool_use", the key of that one. The first
// of these that there are: chat_template.jinja, chat_template.json, `chat_template` of
// tokenizer_config.json. The latter two hold a text, an object of texts by name, or a list of
// objects with a name and a template. additional_chat_templates/tool_use.jinja replaces the one of
// that name.
void read_chat_templates(const std::string& directory, const JsonObject& tokenizer_config,
                         MetadataSink& writer);

}  // namespace weft::safetensors
