// What ranks send each other as texts.
#include <algorithm>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/base/error.h"
#include "weft/ops/attention/cache_cells.h"

#include "ranks/rank_world.h"

namespace weft::run {
namespace {

DType cache_type(const std::string& name) {
  const auto types = cache_types();
  const auto found = std::ranges::find(types, name, &DType::name);
  return found != types.end() ? *found : DType();
}

// Fields of a line, separated by tabs.
class Fields {
 public:
  explicit Fields(std::string_view line) : rest_(line) {}
  std::string text() {
    const std::size_t end = std::min(rest_.find('\t'), rest_.size());
    const std::string field(rest_.substr(0, end));
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return field;
  }
  double number() { return std::strtod(text().c_str(), nullptr); }
  std::int64_t integer() { return std::strtoll(text().c_str(), nullptr, 10); }

 private:
  std::string_view rest_;
};

}  // namespace

std::string options_text(const SessionOptions& o) {
  const nlohmann::json json{{"context", o.context},
                            {"sequences", o.sequences},
                            {"cells", o.cells},
                            {"prefill_width", o.prefill_width},
                            {"logits_rows", o.logits_rows},
                            {"backend", o.backend},
                            {"route", o.route},
                            {"cache_k", std::string(o.cache_k.name())},
                            {"cache_v", std::string(o.cache_v.name())},
                            {"weights", std::string(to_string(o.weights))},
                            {"weight_cache", o.weight_cache},
                            {"passes_off", o.passes_off},
                            {"reuse_arena", o.reuse_arena},
                            {"embeddings", o.embeddings},
                            {"rewind", o.rewind},
                            {"program", static_cast<int>(o.program)},
                            {"alone", o.workers == 1}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

SessionOptions options_of_text(std::string_view text) {
  const auto json = nlohmann::json::parse(text);
  SessionOptions o;
  json.at("context").get_to(o.context);
  json.at("sequences").get_to(o.sequences);
  json.at("cells").get_to(o.cells);
  json.at("prefill_width").get_to(o.prefill_width);
  json.at("logits_rows").get_to(o.logits_rows);
  json.at("backend").get_to(o.backend);
  json.at("route").get_to(o.route);
  o.cache_k = cache_type(json.at("cache_k").get<std::string>());
  o.cache_v = cache_type(json.at("cache_v").get<std::string>());
  const auto weights = find_weight_mode(json.at("weights").get<std::string>());
  if (!weights) fail<ValueError>("unknown mode of weights");
  o.weights = *weights;
  json.at("weight_cache").get_to(o.weight_cache);
  json.at("passes_off").get_to(o.passes_off);
  json.at("reuse_arena").get_to(o.reuse_arena);
  json.at("embeddings").get_to(o.embeddings);
  json.at("rewind").get_to(o.rewind);
  o.program = static_cast<ProgramMemory>(json.at("program").get<int>());
  // Where nodes are verified, plans have one lane. Other machines may have more processors.
  if (json.at("alone").get<bool>()) o.workers = 1;
  return o;
}

std::string steps_text(const PlannedModel& planned) {
  std::vector<std::int64_t> widths;
  for (std::size_t i = 0; i < planned.n_step_plans; ++i) {
    const std::vector<Variable>& variables = planned.graphs[i].variables();
    widths.push_back(std::ranges::find(variables, "T", &Variable::name)->bound);
  }
  return fmt::format("{} sequences, {} cells, steps of up to {} tokens", planned.options.sequences,
                     planned.options.cells, fmt::join(widths, ", "));
}

std::string report_text(const VerifyReport& report) {
  std::string text;
  for (const NodeCheck& c : report.nodes) {
    text += fmt::format("{}\t{}\t{}\t{}\t", c.path, c.op, c.kernel, c.where);
    for (const double value :
         {c.worst_error, c.worst_ratio, c.worst_ulps, c.worst_relative, c.got, c.want, c.bound})
      text += fmt::format("{:a}\t", value);
    text += fmt::format("{}\t{}\t{}\t{}\n", c.worst_index, c.cols, c.non_finite, c.not_numbers);
  }
  return text;
}

VerifyReport report_of_text(std::string_view text) {
  VerifyReport report;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    Fields fields(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    NodeCheck c;
    for (std::string* field : {&c.path, &c.op, &c.kernel, &c.where}) *field = fields.text();
    for (double* value : {&c.worst_error, &c.worst_ratio, &c.worst_ulps, &c.worst_relative, &c.got,
                          &c.want, &c.bound})
      *value = fields.number();
    for (std::int64_t* value : {&c.worst_index, &c.cols, &c.non_finite, &c.not_numbers})
      *value = fields.integer();
    report.nodes.push_back(std::move(c));
  }
  return report;
}

}  // namespace weft::run
