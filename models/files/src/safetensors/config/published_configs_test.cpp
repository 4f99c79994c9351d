// Reads config.json of published models, one or more of each model_type. The names are those of
// https://huggingface.co. Most are copied from public repositories; those of Kimi, ModernBERT,
// Nomic, umT5, granite-3.0-1b and Falcon's RefinedWeb are written from their descriptions and may
// lack keys. DeepSeek-V3 is without quantization_config, CamemBERT and t5-small are shortened.

#include <fstream>
#include <set>
#include <sstream>

#include <doctest/doctest.h>

#include "weft/arch/builder.h"

#include "safetensors/config/config_texts.h"
#include "support/source_tree.h"

namespace weft {
namespace {

using safetensors::Json;
using safetensors::JsonObject;

Json published_configs() {
  std::ifstream file(test::source_tree() /
                     "models/files/src/safetensors/config/published_configs.json");
  std::ostringstream text;
  text << file.rdbuf();
  return safetensors::parse_json(text.str(), "published_configs.json");
}

}  // namespace

TEST_CASE("configurations of published models are read without unknown keys") {
  std::set<std::string> types;
  const Json configs = published_configs();
  for (const auto& [name, config] : configs.items()) {
    INFO(name);
    test::TextSink sink;
    std::string error;
    try {
      types.insert(safetensors::read_config(JsonObject(config, name), "", sink).type);
    } catch (const Error& e) {
      error = e.what();
    }
    CHECK(error == "");
  }
  for (const arch::Architecture* architecture : arch::architectures()) {
    for (const std::string_view type : architecture->hugging_face.types) {
      // The type of models of several parts is that of the part that reads text; "published" is an
      // architecture of another test.
      if (type.empty() || type == "gemma3" || type == "published") continue;
      INFO(std::string(type));
      CHECK(types.contains(std::string(type)));
    }
  }
}

}  // namespace weft
