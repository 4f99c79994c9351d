#include "weft/run/snapshot_file.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string_view>
#include <system_error>

#include "weft/base/checksum.h"
#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/cursor.h"
#include "weft/files/mapped_file.h"
#include "weft/files/output_file.h"
#include "weft/files/pages.h"

namespace weft {
namespace {

// More is damage: a header has the tokens of a file, and lengths of recurrent states.
constexpr std::uint64_t kMaxHeader = std::uint64_t{64} << 20;
constexpr std::string_view kMagic = "weftsnp1";
constexpr std::size_t kNumber = sizeof(std::uint64_t);

// Collects the bytes of a header.
class Header {
 public:
  void bytes(std::span<const std::byte> more) { all_.insert(all_.end(), more.begin(), more.end()); }
  void number(std::uint64_t value) { bytes(std::as_bytes(std::span(&value, 1))); }
  void number(std::int64_t value) { number(static_cast<std::uint64_t>(value)); }
  void set(std::size_t at, std::uint64_t value) { std::memcpy(&all_[at], &value, sizeof value); }
  std::span<const std::byte> all() const { return all_; }

 private:
  std::vector<std::byte> all_;
};

std::uint64_t contents_checksum(const Snapshot& snapshot) {
  Checksum sum;
  for (const Snapshot::State& state : snapshot.states) sum.add(state.bytes);
  return sum.value();
}

std::int64_t contents_bytes(const Snapshot& snapshot) {
  std::int64_t n = 0;
  for (const Snapshot::State& state : snapshot.states) n += std::ssize(state.bytes);
  return n;
}

void add_states(Header& header, const Snapshot& snapshot) {
  header.number(snapshot.states.size());
  for (const auto& [shape, bytes] : snapshot.states) {
    header.number(shape.row_bytes);
    header.number(shape.tokens_per_row);
    header.number(shape.first_row);
    header.number(bytes.size());
    header.number(shape.lengths.size());
    header.bytes(std::as_bytes(std::span(shape.lengths)));
  }
}

Header header_of(const SnapshotLabel& label, const Snapshot& snapshot) {
  Header header;
  header.bytes(std::as_bytes(std::span(kMagic)));
  header.number(std::uint64_t{0});  // set below
  header.number(std::uint64_t{0});
  for (const std::uint64_t n : label.origin.numbers()) header.number(n);
  for (const std::uint64_t n : {label.key, label.parent, label.before}) header.number(n);
  header.number(label.owner.size());
  header.bytes(std::as_bytes(std::span(label.owner)));
  header.number(snapshot.begin);
  header.number(snapshot.tokens.size());
  header.bytes(std::as_bytes(std::span(snapshot.tokens)));
  add_states(header, snapshot);
  header.number(contents_checksum(snapshot));
  const std::size_t n = header.all().size() + kNumber;
  header.set(kMagic.size(), n);
  header.set(kMagic.size() + kNumber, n + static_cast<std::uint64_t>(contents_bytes(snapshot)));
  header.number(checksum(header.all()));
  return header;
}

std::string_view start_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kMagic.size())};
}

// The header's bytes without their checksum. Throws unless they have it.
std::span<const std::byte> checked_header(std::span<const std::byte> bytes,
                                          const std::string& name) {
  const std::string_view magic = start_of(bytes);
  if (magic != kMagic && !magic.empty())
    fail<UnsupportedError>("{}: starts with '{}', a snapshot of this version with '{}'", name,
                           printable(magic), kMagic);
  gguf::Cursor cursor(bytes, name);
  cursor.take(kMagic.size(), 1, "magic");
  const auto n = cursor.read<std::uint64_t>("bytes of the header");
  const auto all = cursor.read<std::uint64_t>("bytes of the file");
  if (all != bytes.size() || n > all || n < cursor.offset() + kNumber)
    fail<FormatError>("{}: has {} bytes, expected {} with a header of {}", name, bytes.size(), all,
                      n);
  if (n > kMaxHeader)
    fail<FormatError>("{}: has a header of {} bytes, at most {} are possible", name, n, kMaxHeader);
  const auto header = bytes.first(static_cast<std::size_t>(n) - kNumber);
  std::uint64_t sum = 0;
  std::memcpy(&sum, bytes.data() + header.size(), sizeof sum);
  if (checksum(header) != sum)
    fail<FormatError>("{}: damaged: the checksum of its header is {:016x}, expected {:016x}", name,
                      checksum(header), sum);
  return header;
}

template <class T>
std::vector<T> read_list(gguf::Cursor& cursor, std::string_view what) {
  const auto n = cursor.read<std::uint64_t>(what);
  const auto bytes = cursor.take(n, sizeof(T), what);
  std::vector<T> list(static_cast<std::size_t>(n));
  if (!bytes.empty()) std::memcpy(list.data(), bytes.data(), bytes.size());
  return list;
}

std::int64_t read_size(gguf::Cursor& cursor, std::string_view what) {
  const auto n = cursor.read<std::uint64_t>(what);
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max() / 2;
  if (n > kMax) cursor.fail_here("{}: {}, expected at most {}", what, n, kMax);
  return static_cast<std::int64_t>(n);
}

SavedShape read_shape(gguf::Cursor& cursor, const Snapshot& snapshot) {
  SavedShape shape;
  shape.row_bytes = read_size(cursor, "bytes of a row");
  shape.tokens_per_row = read_size(cursor, "tokens of a row");
  shape.first_row = read_size(cursor, "first row");
  shape.n_bytes = read_size(cursor, "bytes of a state");
  shape.lengths = read_list<std::int64_t>(cursor, "lengths");
  std::int64_t before = 0;
  for (const std::int64_t length : shape.lengths) {
    if (length <= before || length > snapshot.end())
      cursor.fail_here("a state after {} tokens, expected {} to {}", length, before + 1,
                       snapshot.end());
    before = length;
  }
  return shape;
}

}  // namespace

std::uint64_t hash_tokens(std::uint64_t before, std::span<const std::int32_t> tokens) {
  if (tokens.empty()) return before;
  Checksum sum;
  sum.add(std::as_bytes(std::span(&before, 1)));
  sum.add(std::as_bytes(tokens));
  return sum.value();
}

void write_snapshot(const std::string& path, const SnapshotLabel& label, const Snapshot& snapshot) {
  const Header header = header_of(label, snapshot);
  if (std::error_code error; std::filesystem::is_symlink(path, error))
    std::filesystem::remove(path, error);
  OutputFile file(path, Readers::owner);
  file.reserve(header.all().size() + static_cast<std::uint64_t>(contents_bytes(snapshot)));
  file.write(header.all());
  for (const Snapshot::State& state : snapshot.states) file.write(state.bytes);
  file.commit();
}

SnapshotFile SnapshotFile::open(const std::string& path) {
  std::error_code error;
  if (const auto status = std::filesystem::symlink_status(path, error);
      std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    fail<IoError>("{}: not a regular file", printable_path(path));
  auto file = std::make_shared<const MappedFile>(path);
  expect(file->bytes(), Access::sparse);  // whoever lists a folder needs no contents
  SnapshotFile snapshot = parse(file->bytes(), path);
  snapshot.file_ = std::move(file);
  snapshot.check_mapped();
  return snapshot;
}

SnapshotFile SnapshotFile::parse(std::span<const std::byte> bytes, const std::string& path) {
  SnapshotFile file;
  file.path_ = path;
  const std::string name = printable_path(path);
  gguf::Cursor cursor(checked_header(bytes, name), name);
  Snapshot& snapshot = file.snapshot_;
  cursor.take(kMagic.size() + 2 * kNumber, 1, "sizes");
  auto origin = file.label_.origin.numbers();
  for (std::uint64_t& n : origin) n = cursor.read<std::uint64_t>("origin");
  file.label_.origin.set_numbers(origin);
  for (std::uint64_t* n : {&file.label_.key, &file.label_.parent, &file.label_.before})
    *n = cursor.read<std::uint64_t>("label");
  file.label_.owner = cursor.read_string("owner");
  snapshot.begin = read_size(cursor, "begin");
  snapshot.tokens = read_list<std::int32_t>(cursor, "tokens");
  if (snapshot.tokens.empty()) cursor.fail_here("has no tokens");
  const auto n_states = cursor.read<std::uint64_t>("number of states");
  cursor.require(n_states, 5 * kNumber, "states");
  auto rest =
      bytes.subspan(static_cast<std::size_t>(cursor.offset() + cursor.remaining()) + kNumber);
  file.contents_ = rest;
  for (std::uint64_t i = 0; i < n_states; ++i) {
    Snapshot::State state{.shape = read_shape(cursor, snapshot), .bytes = {}};
    const auto n = static_cast<std::uint64_t>(state.shape.n_bytes);
    if (n > rest.size()) cursor.fail_here("a state of {} bytes, {} are left", n, rest.size());
    state.bytes = rest.first(static_cast<std::size_t>(n));
    rest = rest.subspan(state.bytes.size());
    snapshot.states.push_back(std::move(state));
  }
  file.checksum_ = cursor.read<std::uint64_t>("checksum");
  if (cursor.remaining() > 0 || !rest.empty())
    cursor.fail_here("{} bytes follow the header, {} the states", cursor.remaining(), rest.size());
  file.n_bytes_ = std::ssize(bytes);
  return file;
}

void SnapshotFile::check_contents() const {
  expect(contents_, Access::dense);
  const bool readable = prefault(contents_);
  const std::uint64_t sum = readable ? checksum(contents_) : 0;
  if (!readable) fail<IoError>("{}: cannot be read", printable_path(path_));
  check_mapped();
  if (sum != checksum_)
    fail<FormatError>("{}: damaged: the checksum of its contents is {:016x}, expected {:016x}",
                      printable_path(path_), sum, checksum_);
}

void SnapshotFile::check_mapped() const {
  if (file_ && file_->failed()) refuse_missing_pages(path_);
}

}  // namespace weft
