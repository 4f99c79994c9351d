#include "gzip.h"

#include <array>
#include <new>

#include <fmt/format.h>
#include <zlib.h>

#include "refused_error.h"

namespace weft::http {
namespace {

constexpr int kGzipOnly = 16 + MAX_WBITS;

}  // namespace

struct GzipReader::State {
  z_stream zlib = {};
  bool at_end = false;  // a member has ended; another one may follow
  bool any = false;
};

GzipReader::GzipReader() : state_(std::make_unique<State>()) {
  if (inflateInit2(&state_->zlib, kGzipOnly) != Z_OK) throw std::bad_alloc();
}

GzipReader::~GzipReader() {
  inflateEnd(&state_->zlib);
}

void GzipReader::unpack(std::string_view piece, std::size_t max_bytes, std::string& out) {
  z_stream& z = state_->zlib;
  std::array<char, std::size_t{64} << 10> buffer;
  // zlib does not write to its input, but its pointer is not const.
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
  z.avail_in = static_cast<uInt>(piece.size());
  state_->any |= !piece.empty();
  do {
    if (state_->at_end && z.avail_in > 0) {
      inflateReset(&z);
      state_->at_end = false;
    }
    z.next_out = reinterpret_cast<Bytef*>(buffer.data());
    z.avail_out = static_cast<uInt>(buffer.size());
    const int result = state_->at_end ? Z_BUF_ERROR : inflate(&z, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
      throw RefusedError(400, "the body is not valid gzip");
    state_->at_end |= result == Z_STREAM_END;
    const std::size_t n = buffer.size() - z.avail_out;
    if (n > max_bytes - out.size())
      throw RefusedError(413, fmt::format("the unpacked body is larger than {} bytes", max_bytes));
    out.append(buffer.data(), n);
  } while (z.avail_in > 0 || z.avail_out == 0);
}

void GzipReader::finish() const {
  if (!state_->any || !state_->at_end) throw RefusedError(400, "the gzip body is truncated");
}

}  // namespace weft::http
