#pragma once
// Reads and writes values and calls in Python's notation, which some models write.
// Source: https://docs.python.org/3/reference/lexical_analysis.html

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::reply {

// A literal (None, booleans, numbers, strings, lists, tuples, dicts) as JSON; nullopt if the text
// is not one, or has a value that JSON cannot express.
std::optional<std::string> python_literal(std::string_view text);

struct PythonCall {
  std::string name;
  std::string arguments;  // a JSON object
};
// [f(a=1), g(b='x')]: calls with named arguments; nullopt if the text is anything else.
std::optional<std::vector<PythonCall>> python_calls(std::string_view text);
// f(a=1), which python_calls() reads back; nullopt if a name is not valid in Python, or the
// arguments are not a JSON object or nested too deep.
std::optional<std::string> python_call_text(std::string_view name, std::string_view arguments);

}  // namespace weft::reply
