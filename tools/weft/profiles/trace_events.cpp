#include "weft/profiles/trace_events.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weft::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kStepTrack = 0;  // workers follow

Json slice(const std::string& name, const std::string& category, int track, std::int64_t begin_ns,
           std::int64_t end_ns) {
  return {{"name", name},
          {"cat", category},
          {"ph", "X"},
          {"pid", 1},
          {"tid", track},
          {"ts", static_cast<double>(begin_ns) / 1e3},
          {"dur", static_cast<double>(end_ns - begin_ns) / 1e3}};
}

Json track_name(int track, const std::string& name) {
  return {
      {"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", track}, {"args", {{"name", name}}}};
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

TraceEvents::TraceEvents(const std::string& path, int workers) : file_(path) {
  file_.write(R"({"displayTimeUnit":"ns","traceEvents":[)");
  add(text_of(track_name(kStepTrack, "steps")));
  for (int w = 0; w < workers; ++w)
    add(text_of(track_name(kStepTrack + 1 + w, fmt::format("worker {}", w))));
}

void TraceEvents::add(const std::string& event) {
  file_.write(first_ ? "\n" : ",\n");
  file_.write(event);
  first_ = false;
}

void TraceEvents::add_step(const std::string& name, const std::string& plan, std::int64_t begin_ns,
                           std::int64_t end_ns) {
  Json event = slice(name, "step", kStepTrack, begin_ns, end_ns);
  event["args"] = {{"plan", plan}};
  add(text_of(event));
}

void TraceEvents::add_calls(int worker, std::span<const ProfiledCall> calls) {
  for (const ProfiledCall& call : calls) {
    Json event =
        slice(call.step->path, call.step->op, kStepTrack + 1 + worker, call.begin_ns, call.end_ns);
    event["args"] = {{"kernel", call.step->kernel},
                     {"stage", call.step->stage},
                     {"rows", {call.row0, call.row1}},
                     {"columns", {call.col0, call.col1}}};
    add(text_of(event));
  }
}

void TraceEvents::commit(const std::string& about) {
  file_.write("\n],\"otherData\":{\"weft\":" + about + "}}\n");
  file_.commit();
}

}  // namespace weft::tools
