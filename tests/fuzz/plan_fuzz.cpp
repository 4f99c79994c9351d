// Plans the model of arbitrary bytes, which must succeed or throw weft::Error with a message of one
// line: keys and tensor lists of every architecture, without loading. The bytes are those of a GGUF
// file up to its data, which is zeros.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "weft/base/error.h"
#include "weft/run/model.h"
#include "weft/run/session.h"

namespace {

constexpr std::size_t kDataBytes = 1 << 20;

void require(bool ok) {
  if (!ok) std::abort();
}

// A file in memory that has a path.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size) : fd_(memfd_create("input", 0)) {
    require(fd_ >= 0);
    require(write(fd_, data, size) == static_cast<ssize_t>(size));
    require(ftruncate(fd_, static_cast<off_t>(size + kDataBytes)) == 0);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(fd_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  try {
    const auto model = weft::Model::load(file.path());
    weft::SessionOptions options{.context = 128, .prefill_width = 8, .backend = "reference"};
    options.mem_budget = 256 << 20;
    weft::plan_model(*model, options);
  } catch (const weft::Error& e) {
    require(std::string_view(e.what()).find('\n') == std::string_view::npos);
  }
  return 0;
}
