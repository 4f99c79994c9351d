#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/base/read_file.h"
#include "weft/files/checkpoint.h"
#include "weft/files/output_file.h"
#include "weft/ops/formats/format.h"

#include "arrays/npy.h"
#include "inputs/token_list.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

const Format& format_named(const std::string& name) {
  if (const Format* format = find_format_by_name(name)) return *format;
  std::string known;
  for (const Format* format : all_formats()) {
    if (!known.empty()) known += ", ";
    known += format->dtype.name();
  }
  fail<ValueError>("unknown type '{}' (known: {})", printable(name), known);
}

void check_cols(const Format& format, std::int64_t cols) {
  if (cols % format.dtype.block_elems() == 0) return;
  fail<ShapeError>("rows must be whole blocks of {} elements for {}, got {} columns",
                   format.dtype.block_elems(), format.dtype.name(), cols);
}

void check_finite(const std::string& path, const Matrix& m) {
  const auto at =
      std::find_if(m.values.begin(), m.values.end(), [](float v) { return !std::isfinite(v); });
  if (at == m.values.end()) return;
  const std::int64_t i = at - m.values.begin();
  fail<ValueError>("{}: element [{}, {}] is {}, all must be finite", path, i / m.cols, i % m.cols,
                   *at);
}

std::vector<float> read_importance(const std::string& path, std::int64_t cols) {
  Matrix m = read_npy(path);
  if (m.rows != 1 || m.cols != cols)
    fail<ShapeError>("{}: must be [{}], one importance per column, got [{}, {}]", path, cols,
                     m.rows, m.cols);
  check_finite(path, m);
  const auto at = std::find_if(m.values.begin(), m.values.end(), [](float v) { return v < 0; });
  if (at != m.values.end())
    fail<ValueError>("{}: element {} is {}, importances must not be negative", path,
                     at - m.values.begin(), *at);
  return std::move(m.values);
}

void write(const std::string& path, std::string_view header, std::span<const std::byte> bytes) {
  OutputFile file(path);
  if (!header.empty()) file.write(header);
  file.write(bytes);
  file.commit();
}

struct Flags {
  std::string type, in, out, importance, shape;
};

int encode(const Flags& flags) {
  const Format& format = format_named(flags.type);
  if (!format.encode && !format.encode_weighted)
    fail<UnsupportedError>("{} can be read but not written", format.dtype.name());
  if (!format.encode && flags.importance.empty())
    fail<ValueError>("{} cannot be written without importances: pass --imatrix", flags.type);
  const Matrix m = read_npy(flags.in);
  check_cols(format, m.cols);
  if (format.dtype.is_quantized()) check_finite(flags.in, m);
  std::vector<float> importance;
  if (!flags.importance.empty()) importance = read_importance(flags.importance, m.cols);

  const std::int64_t row_bytes = format.dtype.bytes(m.cols);
  std::vector<std::byte> bytes(static_cast<std::size_t>(m.rows * row_bytes));
  for (std::int64_t r = 0; r < m.rows; ++r) {
    const float* from = m.values.data() + r * m.cols;
    std::byte* to = bytes.data() + r * row_bytes;
    if (!importance.empty() && format.encode_weighted) {
      format.encode_weighted(from, importance.data(), to, m.cols);
    } else {
      format.encode(from, to, m.cols);
    }
  }
  write(flags.out, "", bytes);
  return 0;
}

int decode(const Flags& flags) {
  const Format& format = format_named(flags.type);
  const std::vector<std::int32_t> shape = parse_list("--shape", flags.shape);
  if (shape.size() != 2 || shape[0] <= 0 || shape[1] <= 0)
    fail<ValueError>("--shape must be rows and columns, both positive, got '{}'",
                     printable(flags.shape));
  const std::int64_t rows = shape[0], cols = shape[1];
  check_cols(format, cols);
  const std::string bytes = read_file(flags.in, kUnlimitedBytes);
  const auto have = static_cast<std::int64_t>(bytes.size());
  if (have % rows != 0 || have / rows != format.dtype.bytes(cols))
    fail<FormatError>("{}: must have {} rows of {} bytes for [{}, {}] of {}, has {} bytes",
                      flags.in, rows, format.dtype.bytes(cols), rows, cols, format.dtype.name(),
                      have);
  std::vector<float> values(static_cast<std::size_t>(rows * cols));
  format.decode(reinterpret_cast<const std::byte*>(bytes.data()), values.data(), rows * cols);
  write(flags.out, npy_header(rows, cols), std::as_bytes(std::span(values)));
  return 0;
}

int codec(int argc, char** argv) {
  cli::App app("Encodes a matrix in a weight format, or decodes it.", "weft codec");
  app.require_subcommand(1);
  Flags flags;
  cli::App to = app.add_subcommand("encode", "converts float32 values to the bytes of a format");
  cli::App from = app.add_subcommand("decode", "converts the bytes of a format to float32 values");
  for (cli::App sub : {to, from}) {
    sub.add_option("TYPE", flags.type, "name of the format, such as Q4_K").required();
    sub.add_option("IN", flags.in, "file to read").required();
    sub.add_option("OUT", flags.out, "file to write").required();
  }
  to.add_option("--imatrix", flags.importance,
                ".npy file with the importance of every column; formats that do not "
                "use it ignore it");
  from.add_option("--shape", flags.shape, "ROWS,COLUMNS").required();
  app.footer(
      "Examples:\n"
      "  weft codec encode Q4_K weights.npy weights.bin\n"
      "  weft codec decode Q4_K weights.bin back.npy --shape 8,1024");
  if (const auto code = parse_flags(app, argc, argv)) return *code;
  return to.parsed() ? encode(flags) : decode(flags);
}

}  // namespace

const Subcommand kCodec{"codec", "encodes or decodes one matrix in a weight format", codec};

}  // namespace weft::tools
