// What ranks send each other as texts.
#include <algorithm>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/run/session_knobs.h"

#include "ranks/rank_world.h"
#include "session/option_json.h"

namespace weft::run {
namespace {

// Whether plans have one worker: the only number of workers that ranks are sent.
constexpr const char* kAlone = "alone";

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

std::string options_text(const SessionOptions& options) {
  nlohmann::json json{{kAlone, options.workers == 1}};
  for_each_option(options, [&]<class M>(const KnobText& text, const M& value) {
    if constexpr (kHasJson<M>) {
      if (text.no_ranks.empty()) json[std::string(text.name)] = json_of(value);
    }
  });
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

SessionOptions options_of_text(std::string_view text) {
  const auto json = nlohmann::json::parse(text);
  SessionOptions options;
  for_each_option(options, [&]<class M>(const KnobText& knob, M& value) {
    if constexpr (kHasJson<M>) {
      if (knob.no_ranks.empty()) set_from_json(value, knob.name, json.at(std::string(knob.name)));
    }
  });
  // Where nodes are verified, plans have one lane. Other machines may have more processors.
  if (json.at(kAlone).get<bool>()) options.workers = 1;
  return options;
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
