#include "weft/program/serve.h"

#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "weft/run/session.h"
#include "weft/scheduler/plan_svg.h"

#include "profiles/request_profile.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

// The plan of a step with one token.
std::string draw_plan(const Model& model, SessionOptions options) {
  options.mem_budget = std::numeric_limits<std::int64_t>::max();  // only looked at
  const PlannedModel planned = plan_model(model, options);
  const Plan& plan = planned.plans.front();
  PlanPicture picture;
  picture.title = fmt::format("{}, plan {}", model.facts().title(), plan.name);
  return plan_svg(planned.graphs.front(), plan, picture);
}

int serve(int argc, char** argv) {
  server::Flags flags;
  if (const auto code = server::parse(argc, argv, flags)) return *code;
  cli::report_missing_pages_itself();
  return server::serve(std::move(flags), {draw_plan, make_request_profile, WEFT_VERSION});
}

}  // namespace

const Subcommand kServe{"serve", "answers HTTP requests: OpenAI, Anthropic, Ollama, llama-server",
                        serve};

}  // namespace weft::tools
