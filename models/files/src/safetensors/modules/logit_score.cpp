#include "safetensors/modules/logit_score.h"

#include <vector>

#include "weft/base/error.h"
#include "weft/base/printable.h"

#include "safetensors/config/config.h"
#include "safetensors/optional_file.h"
#include "safetensors/tensors.h"

namespace weft::safetensors {
namespace {

// Source: the model card of https://huggingface.co/Qwen/Qwen3-Reranker-0.6B.
constexpr std::string_view kQwen3Prompt =
    "<|im_start|>system\n"
    "Judge whether the Document meets the requirements based on the Query and the Instruct "
    "provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n"
    "<|im_start|>user\n"
    "<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n"
    "<Query>: {query}\n"
    "<Document>: {document}<|im_end|>\n"
    "<|im_start|>assistant\n"
    "<think>\n\n</think>\n\n";

}  // namespace

LogitScore read_logit_score(const std::string& folder) {
  const OptionalFile config(folder, "config.json");
  if (!config.found()) fail<IoError>("{}: is missing", printable_path(config.path()));
  const JsonObject json = config.object();
  const std::string input = json.find_string("module_input_name").value_or("causal_logits");
  if (input != "causal_logits") {
    fail<UnsupportedError>("{}: 'module_input_name' is '{}', which is not supported",
                           printable_path(config.path()), printable(input));
  }
  return {.yes = json.uint("true_token_id"), .no = json.find_uint("false_token_id")};
}

void add_classifier(const LogitScore& score, const std::string& file, const Config& config,
                    Tensors& tensors, MetadataSink& sink) {
  if (config.type != "qwen3" || config.classifies) return;
  std::vector<std::int64_t> rows;
  for (const std::optional<std::uint64_t>& id : {std::optional(score.yes), score.no}) {
    if (!id) continue;
    if (*id >= config.n_vocab) {
      fail<FormatError>("{}: names token {}, the model has {} tokens", printable_path(file), *id,
                        config.n_vocab);
    }
    rows.push_back(static_cast<std::int64_t>(*id));
  }
  tensors.add_rows("cls.output.weight", config.tied ? "token_embd.weight" : "output.weight", rows);
  if (score.no) {
    sink.add_strings(fmt::format("{}.classifier.output_labels", config.architecture->name),
                     std::vector<std::string>{"yes", "no"});
  }
  sink.add_string("tokenizer.chat_template.rerank", kQwen3Prompt);
}

}  // namespace weft::safetensors
