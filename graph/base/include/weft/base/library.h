#pragma once
// Shared libraries that a program loads: plug-ins, transports, extensions. They stay in the
// process, because what they registered may be used as long as it lives.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "weft/base/error.h"

namespace weft {

// A loaded library. Copies are the same one.
class Library {
 public:
  enum class Symbols : std::uint8_t {
    local,   // seen by the library alone
    global,  // seen by libraries that are loaded later, too
  };
  // `path` is that of a file, also without a slash. Throws IoError "PATH is not a regular file",
  // and UnsupportedError "PATH: cannot be loaded: REASON".
  static Library load(const std::string& path, Symbols symbols = Symbols::local);

  // Null if it does not export that.
  template <class Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

  // Takes back one load(), before anything of it was used.
  void close() const;
  const void* handle() const { return handle_; }

 private:
  explicit Library(void* handle) : handle_(handle) {}
  void* symbol(const char* name) const;
  void* handle_;
};

// The names of the functions that are not there: "open, send". Empty: none is missing.
std::string missing_functions(std::initializer_list<std::pair<bool, std::string_view>> functions);

// What a library for some purpose exports: a function that gives a table of functions for a
// version.
struct TableKind {
  const char* entry;  // "weft_backend_entry"
  std::uint32_t version;
  std::string_view library;  // "a Weft backend"
  std::string_view abi;      // "the backend ABI"
  std::size_t min_size;      // bytes of the table
};

// The table, which begins with u32 struct_size and u32 abi_version. Throws UnsupportedError unless
// it has the version and the size.
template <class Table>
const Table& load_table(const Library& library, const std::string& path, const TableKind& kind) {
  auto* const entry = library.find<const Table*(std::uint32_t)>(kind.entry);
  if (!entry)
    fail<UnsupportedError>("{}: not {}: it does not export {}()", path, kind.library, kind.entry);
  const Table* const table = entry(kind.version);
  if (!table)
    fail<UnsupportedError>("{}: does not support version {} of {}", path, kind.version, kind.abi);
  if (table->abi_version != kind.version)
    fail<UnsupportedError>("{}: uses version {} of {}, expected version {}", path,
                           table->abi_version, kind.abi, kind.version);
  if (table->struct_size < kind.min_size)
    fail<UnsupportedError>("{}: its table of functions has {} bytes, expected at least {}", path,
                           table->struct_size, kind.min_size);
  return *table;
}

}  // namespace weft
