#include "call_rules.h"

#include <vector>

#include <fmt/format.h>

#include "weft/base/error.h"

namespace weft::reply {
namespace {

constexpr std::string_view kLine = R"("\n"?)";  // models are free to break the line

std::string object_call(RuleWriter& rules, const CallRow& row, const CallableTool& tool) {
  if (row.keyed)
    return fmt::format(R"({} {} "}}")", gbnf_literal(fmt::format(R"({{"{}": )", tool.name)),
                       rules.arguments(tool));
  return fmt::format(R"({} {} "}}")",
                     gbnf_literal(fmt::format(R"({{"{}": "{}", "{}": )", row.name_key, tool.name,
                                              row.arguments_key)),
                     rules.arguments(tool));
}

std::string named_call(RuleWriter& rules, const CallRow& row, const CallableTool& tool) {
  const std::string name = std::string(row.name_prefix) + tool.name;
  const bool fenced = row.after_name.starts_with("```");
  return fmt::format("{} {} {} {} {} {} {} {}", rules.marker(std::string(row.open) + name),
                     row.name_prefix.empty() ? "" : R"(":" [0-9]{1,3})", fenced ? kLine : "",
                     rules.marker(row.after_name), kLine, rules.arguments(tool), kLine,
                     rules.marker(row.close));
}

std::string tagged_call(RuleWriter& rules, const CallRow& row, const CallableTool& tool) {
  return fmt::format("{} {} {} {}",
                     rules.marker(std::string(row.open) + tool.name + std::string(row.after_name)),
                     kLine, tagged_parameters(rules, row, tool), rules.marker(row.close));
}

// Arguments whose texts are between quotes of the notation, and whose other values are JSON.
std::string braced_call(RuleWriter& rules, const CallRow& row, const CallableTool& tool) {
  return fmt::format(R"({} {} {})", rules.marker(std::string(row.open) + tool.name),
                     braced_arguments(rules, row, tool), rules.marker(row.close));
}

std::string any_of(RuleWriter& rules, const CallRow& row, std::span<const CallableTool> tools) {
  std::string call;
  for (const CallableTool& tool : tools) {
    if (!call.empty()) call += " | ";
    call += row.style == CallStyle::named    ? named_call(rules, row, tool)
            : row.style == CallStyle::tagged ? tagged_call(rules, row, tool)
            : row.style == CallStyle::braced ? braced_call(rules, row, tool)
                                             : object_call(rules, row, tool);
  }
  return call;
}

// Every call is a message to its tool.
std::string messages_to_tools(RuleWriter& rules, const CallRow& row,
                              std::span<const CallableTool> tools, bool several) {
  std::string one;
  for (const CallableTool& tool : tools)
    one +=
        fmt::format("{}{} {} {} {} {}", one.empty() ? "" : " | ",
                    rules.marker(fmt::format(" to={}<|message|>{}", tool.name, row.section_open)),
                    kLine, tagged_call(rules, row, tool), kLine, rules.marker(row.section_close));
  const std::string message = rules.rule(one);
  if (!several) return message;
  return fmt::format("{} ({} {})*", message, rules.marker("<|eom|><|start|>assistant"), message);
}

bool is_object(const CallRow& row) {
  return row.style == CallStyle::object || row.style == CallStyle::bare ||
         row.style == CallStyle::python;
}

}  // namespace

void add_calls_rule(RuleWriter& rules, const CallRow& row, std::span<const CallableTool> tools,
                    bool several) {
  if (row.recipient) return rules.add("calls", messages_to_tools(rules, row, tools, several));
  rules.add("call", any_of(rules, row, tools));
  std::string body = "call";
  if (is_object(row) && row.is_list)
    body = several ? R"("[" call (", " call)* "]")" : R"("[" call "]")";
  // The notation of a bare object is for one call.
  if (row.style == CallStyle::bare) return rules.add("calls", body);
  if (is_object(row))
    body = fmt::format(
        "{} {} {} {} {} {}", rules.marker(row.open), row.after_name.empty() ? "" : R"(" "?)",
        rules.marker(row.after_name), kLine, body,
        row.close.empty() ? "" : fmt::format("{} {}", kLine, rules.marker(row.close)));
  const bool in_section = !row.section_open.empty();
  if (in_section)
    body = fmt::format("{} {} call {} {} {}", rules.marker(row.section_open), kLine,
                       several ? fmt::format("({} call)*", kLine) : "", kLine,
                       rules.marker(row.section_close));
  rules.add("block", body);
  const bool repeats = several && !(is_object(row) && row.is_list);
  rules.add("calls", repeats ? fmt::format("block ({} block)*", kLine) : "block");
}

std::string gbnf_literal(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + '"';
}

bool RuleWriter::has_control(std::string_view text) const {
  for (const TokenId id : tokenizer_.encode(text, {.add_special = false, .parse_special = true}))
    if (tokenizer_.hidden(id)) return true;
  return false;
}

bool RuleWriter::is_token(std::string_view text) const {
  return tokenizer_.vocabulary().find(text) != kNoToken;
}

std::string RuleWriter::marker(std::string_view text) const {
  if (text.empty()) return "";
  if (!has_control(text)) return gbnf_literal(text);
  std::string out, plain;
  const auto flush = [&] {
    if (!plain.empty()) out += gbnf_literal(plain) + " ";
    plain.clear();
  };
  for (const TokenId id : tokenizer_.encode(text, {.add_special = false, .parse_special = true})) {
    if (tokenizer_.hidden(id)) {
      flush();
      out += fmt::format("<[{}]> ", id);
    } else {
      plain += tokenizer_.bytes(id);
    }
  }
  flush();
  return out;
}

std::string RuleWriter::up_to(std::string_view marker_text) {
  // Control tokens cannot be part of a text.
  if (has_control(marker_text)) return ".* " + marker(marker_text);
  return grammar("text", Grammar::up_to(marker_text));
}

std::string RuleWriter::without(std::string_view marker_text) {
  if (has_control(marker_text)) return ".*";
  return grammar("text", Grammar::without(marker_text));
}

std::string RuleWriter::grammar(const std::string& name, std::shared_ptr<const Grammar> grammar) {
  const std::string rule = fmt::format("{}-{}", name, grammars_.size());
  grammars_.emplace(rule, std::move(grammar));
  return rule;
}

std::string RuleWriter::arguments(const CallableTool& tool) {
  const std::string_view schema = tool.parameters.empty()
                                      ? R"({"type": "object", "properties": {}})"
                                      : std::string_view(tool.parameters);
  return grammar("arguments", naming_tool(tool, [&] {
                   return Grammar::from_json_schema(schema, {.closed_objects = true});
                 }));
}

std::string RuleWriter::rule(std::string_view body) {
  const std::string name = fmt::format("part-{}", n_rules_++);
  add(name, body);
  return name;
}

void RuleWriter::add(std::string_view name, std::string_view body) {
  text_ += fmt::format("{} ::= {}\n", name, body);
}

std::shared_ptr<const Grammar> RuleWriter::compile() const {
  return Grammar::from_gbnf(text_, {.rules = grammars_});
}

}  // namespace weft::reply
