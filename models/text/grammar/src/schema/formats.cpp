#include "schema/formats.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "regex/regex.h"

namespace weft::grammar {
namespace {

using std::string;

string any_of(std::initializer_list<string> alternatives) {
  string text;
  for (const string& a : alternatives) text += (text.empty() ? "(?:" : "|") + a;
  return text + ")";
}

// The characters beyond ASCII that RFC 3987 allows.
const char* const kMore = "\\u00A0-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFEF\\u{10000}-\\u{1FFFD}";

// RFC 3339
string date() {
  const string leap =
      "(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29";
  return any_of({"\\d{4}-(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])",
                 "\\d{4}-(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)", "\\d{4}-02-(?:0[1-9]|1\\d|2[0-8])",
                 leap});
}
// Leap seconds are inserted at 23:59:60 of UTC; the offsets of clocks are quarters of an hour.
string leap_second() {
  constexpr int kDay = 24 * 60, kQuarter = 15;
  const string seconds = ":60(?:\\.\\d+)?";
  string text = string("(?:23:59") + seconds + "[Zz]";
  for (int offset = 0; offset < kDay; offset += kQuarter)
    for (const int sign : {1, -1})
      text += fmt::format("|{:02}:{:02}{}{}{:02}:{:02}", (2 * kDay - 1 + sign * offset) % kDay / 60,
                          (2 * kDay - 1 + sign * offset) % 60, seconds, sign > 0 ? "\\+" : "-",
                          offset / 60, offset % 60);
  return text + ")";
}
string time() {
  return any_of(
      {"(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d+)?(?:[Zz]|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)",
       leap_second()});
}
string date_time() {
  return date() + "[Tt]" + time();
}

// RFC 3339, appendix A
string duration() {
  const string day = "\\d+D", month = string("\\d+M(?:") + day + ")?",
               year = string("\\d+Y(?:") + month + ")?";
  const string second = "\\d+S", minute = string("\\d+M(?:") + second + ")?",
               hour = string("\\d+H(?:") + minute + ")?";
  const string clock = string("T") + any_of({hour, minute, second});
  return string("P") + any_of({any_of({day, month, year}) + "(?:" + clock + ")?", clock, "\\d+W"});
}

// RFC 1123, without names that are the ASCII form of others (xn--)
string host() {
  const string label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
  return label + "(?:\\." + label + ")*";
}
string email() {
  const string atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
  return atom + "(?:\\." + atom + ")*@" + host();
}

// RFC 6531. Names of hosts are of scripts' letters; their ASCII form, which limits lengths and
// characters further, is not derived.
string idn_email() {
  const string atom = string("[A-Za-z0-9!#$%&'*+/=?^_`{|}~") + kMore + "-]+";
  const string letters =
      "A-Za-z0-9\\u00AA-\\u167F\\u1681-\\u1FFF\\u2C00-\\u2DFF\\u3005-\\uD7FF\\uF900-\\uFDCF";
  const string label = "[" + letters + "](?:[" + letters + "-]*[" + letters + "])?";
  return atom + "(?:\\." + atom + ")*@" + label + "(?:\\." + label + ")*";
}

string ipv4() {
  const string byte = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
  return byte + "(?:\\." + byte + "){3}";
}

// RFC 4291: eight groups, the last two perhaps as IPv4, one run of zeros left out
string ipv6() {
  const string h = "[0-9A-Fa-f]{1,4}", last = any_of({h + ":" + h, ipv4()});
  string text = string("(?:(?:") + h + ":){6}" + last;
  for (int after = 5; after >= -2; --after) {  // whole groups behind '::', before the last two
    const int before = 5 - after;
    const string head =
        before == 0 ? ""
                    : string("(?:(?:") + h + ":){0," + std::to_string(before - 1) + "}" + h + ")?";
    const string tail = after == -2 ? ""
                        : after == -1
                            ? h
                            : string("(?:") + h + ":){" + std::to_string(after) + "}" + last;
    text += string("|") + head + "::" + tail;
  }
  return text + ")";
}

// RFC 3986, and with `more` of Unicode RFC 3987
string characters(const string& marks, bool more) {
  return string("(?:[A-Za-z0-9._~!$&'()*+,;=") + marks + (more ? kMore : "") +
         "-]|%[0-9A-Fa-f]{2})";
}
string query_and_fragment(bool more) {
  const string c = characters(":@/?", more);
  return string("(?:\\?") + c + "*)?(?:#" + c + "*)?";
}
string segments(bool more) {
  return string("(?:/") + characters(":@", more) + "*)*";
}
string authority_and_path(bool more) {
  const string user = characters(":", more), host_name = characters("", more);
  return string("//(?:") + user + "*@)?" +
         any_of({host_name + "*", string("\\[") + ipv6() + "\\]"}) + "(?::\\d*)?" + segments(more);
}
string absolute(bool more) {
  return string("[A-Za-z][A-Za-z0-9+.-]*:") +
         any_of({authority_and_path(more),
                 string("/?") + characters(":@", more) + "+" + segments(more), "/?"}) +
         query_and_fragment(more);
}
string reference(bool more) {
  return any_of(
      {absolute(more), any_of({authority_and_path(more),
                               string("/") + characters(":@", more) + "+" + segments(more),
                               characters("@", more) + "+" + segments(more), "/?"}) +
                           query_and_fragment(more)});
}
string uri() {
  return absolute(false);
}
string iri() {
  return absolute(true);
}
string uri_reference() {
  return reference(false);
}
string iri_reference() {
  return reference(true);
}

// RFC 6901
string json_pointer() {
  return "(?:/(?:[^/~]|~[01])*)*";
}
string relative_json_pointer() {
  return string("(?:0|[1-9]\\d*)(?:#|") + json_pointer() + ")";
}

string uuid() {
  return "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}";
}

struct Format {
  std::string_view name;
  string (*pattern)();
  std::uint64_t max_length = Dfa::kUnbounded;
};

constexpr Format kFormats[] = {
    {"date", date},
    {"time", time},
    {"date-time", date_time},
    {"duration", duration},
    {"email", email, 254},
    {"idn-email", idn_email, 254},
    {"hostname", host, 253},
    {"ipv4", ipv4},
    {"ipv6", ipv6},
    {"uri", uri},
    {"iri", iri},
    {"uri-reference", uri_reference},
    {"iri-reference", iri_reference},
    {"uuid", uuid},
    {"json-pointer", json_pointer},
    {"relative-json-pointer", relative_json_pointer},
};

}  // namespace

FormatKind find_format(std::string_view name, std::optional<Dfa>& dfa) {
  if (name == "regex" || name == "uri-template" || name == "idn-hostname")
    return FormatKind::unsupported;
  const auto* format = std::find_if(std::begin(kFormats), std::end(kFormats),
                                    [name](const Format& f) { return f.name == name; });
  if (format == std::end(kFormats)) return FormatKind::unknown;
  // '.' does not match a line end, but other classes may be negated: [^/~] is any character.
  dfa = compile_regex(format->pattern(), true);
  if (format->max_length != Dfa::kUnbounded) {
    dfa = dfa->without(compile_regex("(?:.*[.@])?..--.*", true));
    if (format->max_length < Dfa::kUnbounded) dfa = dfa->both(Dfa::lengths(0, format->max_length));
  }
  return FormatKind::known;
}

}  // namespace weft::grammar
