// What hostile templates may cost.
#include <string>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/template/chat_template.h"

namespace weft {
namespace {

// Whether the template goes beyond a limit.
bool exceeds(const std::string& source) {
  try {
    make_chat_template(source)->render_arguments("{}");
  } catch (const ChatTemplateError& e) {
    return e.cause() == ChatTemplateError::Cause::limit;
  }
  return false;
}

std::string repeated(const std::string& expression, const std::string& x = "'a' * 20000000") {
  return "{% set x = " + x + " %}{% for i in range(1000) %}{% set y = " + expression +
         " %}{% endfor %}";
}

TEST_CASE("passes over a long text end") {
  CHECK_FALSE(exceeds("{% set x = 'a' * 20000000 %}{{ x | wordcount }}"));
  for (const char* pass : {"x | wordcount", "x | float", "x | int", "x.isidentifier()", "'b' in x",
                           "x.find('b')", "x.count('b')", "x is upper", "'%s' % x", "x.isalnum()"})
    CHECK_MESSAGE(exceeds(repeated(pass)), pass);
}

TEST_CASE("values that contain the same one many times") {
  std::string list =
      "{% set ns = namespace(a=(1,), b=(1,)) %}{% for i in range(40) %}"
      "{% set ns.a = (ns.a, ns.a) %}{% set ns.b = (ns.b, ns.b) %}{% endfor %}";
  for (const char* use : {"{{ ns.a | tojson }}", "{{ ns.a }}", "{{ ns.a == ns.b }}",
                          "{{ {ns.a: 1} }}", "{{ ns.a < ns.b }}", "{{ [ns.a, ns.b] | sort }}",
                          "{{ [ns.a, ns.b] | unique | list }}", "{{ ns.a in [ns.b] }}"})
    CHECK_MESSAGE(exceeds(list + use), use);
}

TEST_CASE("probes share one budget") {
  // A few probes of this template cost all of it.
  const std::string source =
      "{% for i in range(1000) %}{% for j in range(60) %}{% set k = j %}{% endfor %}{% endfor %}"
      "{% for m in messages %}{{ m.content }}{% endfor %}";
  const auto cheap = make_chat_template(source.substr(source.rfind("{% for m")));
  const auto costly = make_chat_template(source);
  CHECK(cheap->abilities().results);
  CHECK_FALSE(costly->abilities().results);
}

}  // namespace
}  // namespace weft
