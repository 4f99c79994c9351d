#include "request_reader.h"

#include <boost/beast/http/basic_parser.hpp>
#include <fmt/format.h>

#include "weft/base/text.h"

#include "gzip.h"
#include "refused_error.h"
#include "target.h"

namespace weft::http {
namespace {

namespace beast = boost::beast;
using Code = beast::error_code;

// A line with the size of a chunk and its extensions, and all trailers together.
constexpr std::size_t kMaxChunkLine = std::size_t{16} << 10;
// Not less than this follows anywhere in a chunked body. Beast asserts that it sees as much at the
// end, which a client decides.
constexpr std::string_view kShortestChunk = "0\r\n\r\n";
// Empty lines before a request, which old clients send after a body.
constexpr std::size_t kMaxEmptyLines = 4;

// The body as it comes: limited, and unpacked if it is compressed.
class Body {
 public:
  Body(std::size_t max_bytes, bool gzip) : max_bytes_(max_bytes) {
    if (gzip) gzip_.emplace();
  }
  std::size_t size() const { return text_.size(); }
  // So many bytes will come. The system gives the memory as it is used.
  void expect(std::size_t n_bytes) { text_.reserve(n_bytes); }
  void append(std::string_view piece) {
    if (gzip_) {
      // Members may be empty: their number is limited by their own size.
      if (piece.size() > max_bytes_ - n_packed_)
        throw RefusedError(413, fmt::format("the packed body is larger than {} bytes", max_bytes_));
      n_packed_ += piece.size();
      return gzip_->unpack(piece, max_bytes_, text_);
    }
    if (piece.size() > max_bytes_ - text_.size())
      throw RefusedError(413, fmt::format("the body is larger than {} bytes", max_bytes_));
    text_.append(piece);
  }
  std::string take() {
    if (gzip_) gzip_->finish();
    return std::move(text_);
  }

 private:
  std::size_t max_bytes_;
  std::size_t n_packed_ = 0;
  std::optional<GzipReader> gzip_;
  std::string text_;
};

std::string_view view(beast::string_view text) {
  return {text.data(), text.size()};
}

class Parser : public beast::http::basic_parser<true> {
 public:
  explicit Parser(const ReaderLimits& limits) {
    eager(true);
    header_limit(static_cast<std::uint32_t>(limits.head.header_bytes) + 1);
    body_limit(boost::none);  // Body has the limit
  }

  RequestHead head;
  std::string target;
  std::optional<Body> body;

 private:
  void on_request_impl(beast::http::verb, beast::string_view method, beast::string_view t, int,
                       Code&) override {
    head.method = std::string(view(method));
    target = std::string(view(t));
  }
  void on_response_impl(int, beast::string_view, int, Code&) override {}
  void on_field_impl(beast::http::field, beast::string_view name, beast::string_view value,
                     Code&) override {
    // Trailers are dropped.
    if (!is_header_done()) head.headers.emplace_back(view(name), view(value));
  }
  void on_header_impl(Code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, Code&) override {}
  std::size_t on_body_impl(beast::string_view piece, Code&) override {
    body->append(view(piece));
    return piece.size();
  }
  void on_chunk_header_impl(std::uint64_t, beast::string_view, Code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view piece, Code&) override {
    body->append(view(piece));
    return piece.size();
  }
  void on_finish_impl(Code&) override {}
};

// Method and target of a request line, for messages about a head that is wrong further on.
void describe(std::string_view head, RequestHead& out) {
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || last <= first) return;
  try {
    out.path = parse_target(line.substr(first + 1, last - first - 1)).path;
    out.method = std::string(line.substr(0, first));
  } catch (const RefusedError&) {
  }
}

// Returns whether the body is compressed.
bool is_gzip(const RequestHead& head) {
  std::string_view coding = trim(find_header(head.headers, "content-encoding"));
  if (coding.empty() || equals_ignoring_case(coding, "identity")) return false;
  if (equals_ignoring_case(coding, "gzip") || equals_ignoring_case(coding, "x-gzip")) return true;
  throw RefusedError(415, "Content-Encoding: only 'gzip' is supported");
}

}  // namespace

struct RequestReader::Impl {
  explicit Impl(const ReaderLimits& l) : limits(l), scanner(l.head), parser(l) {}

  void parse_head(std::string_view text);

  ReaderLimits limits;
  HeadScanner scanner;
  Parser parser;
  Framing framing;
  std::size_t n_empty_lines = 0;
};

RequestReader::RequestReader(const ReaderLimits& limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestReader::~RequestReader() = default;
RequestReader::RequestReader(RequestReader&&) noexcept = default;
RequestReader& RequestReader::operator=(RequestReader&&) noexcept = default;

void RequestReader::Impl::parse_head(std::string_view text) {
  framing = check_head(text);
  Code error;
  const std::size_t n = parser.put(boost::asio::buffer(text.data(), text.size()), error);
  if ((error && error != beast::http::error::need_more) || n != text.size() ||
      !parser.is_header_done())
    throw RefusedError(400, fmt::format("malformed header: {}", error.message()));
  // The two must agree on the framing.
  const auto length = parser.content_length();
  const bool same_length =
      framing.length.has_value() == length.has_value() && (!length || *length == *framing.length);
  if (parser.chunked() != framing.chunked || !same_length)
    throw RefusedError(400, "the length of the body is unclear");
  Target target = parse_target(parser.target);
  parser.head.path = std::move(target.path);
  parser.head.query = std::move(target.query);
  if (target.authority.empty()) return;
  // RFC 9112 section 3.2.2: the Host of an absolute target counts.
  Headers& headers = parser.head.headers;
  std::erase_if(headers, [](const auto& h) { return equals_ignoring_case(h.first, "host"); });
  headers.emplace_back("Host", std::move(target.authority));
}

std::size_t RequestReader::read_head(std::string_view input) {
  if (input.starts_with("\r\n") && impl_->n_empty_lines < kMaxEmptyLines) {
    ++impl_->n_empty_lines;
    return 2;
  }
  if (input == "\r") return 0;
  try {
    const std::size_t n = impl_->scanner.scan(input);
    if (n > 0) impl_->parse_head(input.substr(0, n));
    return n;
  } catch (const RefusedError&) {
    describe(input, impl_->parser.head);
    throw;
  }
}

bool RequestReader::head_complete() const {
  return impl_->parser.is_header_done();
}

RequestHead& RequestReader::head() {
  return impl_->parser.head;
}

bool RequestReader::http_1_1() const {
  return impl_->framing.minor_version == 1;
}

bool RequestReader::keep_alive() const {
  return http_1_1() && impl_->parser.keep_alive();
}

bool RequestReader::expects_continue() const {
  return http_1_1() &&
         equals_ignoring_case(find_header(impl_->parser.head.headers, "expect"), "100-continue");
}

std::optional<std::uint64_t> RequestReader::body_length() const {
  if (impl_->framing.chunked) return std::nullopt;
  return impl_->framing.length.value_or(0);
}

void RequestReader::begin_body() {
  const std::size_t max = impl_->limits.body_bytes;
  const std::uint64_t declared = body_length().value_or(0);
  if (declared > max) throw RefusedError(413, fmt::format("the body is larger than {} bytes", max));
  const std::string_view expect = find_header(impl_->parser.head.headers, "expect");
  if (!expect.empty() && http_1_1() && !expects_continue())
    throw RefusedError(417, "Expect: only '100-continue' is supported");
  impl_->parser.body.emplace(max, is_gzip(impl_->parser.head));
  impl_->parser.body->expect(static_cast<std::size_t>(declared));
}

std::size_t RequestReader::read_body(std::string_view input) {
  if (complete() || input.empty()) return 0;
  if (impl_->framing.chunked && input.size() < kShortestChunk.size()) return 0;
  Code error;
  const std::size_t n = impl_->parser.put(boost::asio::buffer(input.data(), input.size()), error);
  if (error && error != beast::http::error::need_more)
    throw RefusedError(400, fmt::format("malformed body: {}", error.message()));
  if (!complete() && input.size() - n > kMaxChunkLine)
    throw RefusedError(400, "the line before a chunk, or its trailers, are too long");
  return n;
}

std::size_t RequestReader::body_bytes() const {
  return impl_->parser.body->size();
}

bool RequestReader::complete() const {
  return impl_->parser.is_done();
}

std::string RequestReader::take_body() {
  return impl_->parser.body->take();
}

}  // namespace weft::http
