#include <iostream>
#include <string>

#include "weft/base/read_file.h"
#include "weft/check/trace.h"

#include "subcommand.h"

namespace weft::tools {
namespace {

int trace_diff(int argc, char** argv) {
  cli::App app(
      "Compares two files of weft trace and prints the first node that differs. Exit code 1 if one "
      "does.",
      "weft trace-diff");
  std::string a, b;
  app.add_option("A", a, "a trace").required();
  app.add_option("B", b, "another trace of the same model and tokens").required();
  app.footer("Example:\n  weft trace-diff here.trace there.trace");
  if (const auto code = parse_flags(app, argc, argv)) return *code;

  const Trace first = Trace::parse(read_file(a, kUnlimitedBytes), a),
              second = Trace::parse(read_file(b, kUnlimitedBytes), b);
  const TraceDifference difference = compare(first, second);
  std::cout << difference.to_text(first, second);
  return difference.differs ? 1 : 0;
}

}  // namespace

const Subcommand kTraceDiff{"trace-diff", "finds the first node that differs between two traces",
                            trace_diff};

}  // namespace weft::tools
