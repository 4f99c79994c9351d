#include "weft/base/build_id.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

namespace weft {
namespace {

constexpr std::size_t padded(std::size_t bytes) {
  return (bytes + 3) / 4 * 4;
}

// The description of the note NT_GNU_BUILD_ID, if these notes have it.
std::string id_in(std::span<const char> notes) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes.data(), sizeof(note));
    const std::size_t name = sizeof(note), desc = name + padded(note.n_namesz);
    if (desc + padded(note.n_descsz) > notes.size()) return {};
    const bool gnu = note.n_namesz == 4 && std::memcmp(notes.data() + name, "GNU", 4) == 0;
    if (gnu && note.n_type == NT_GNU_BUILD_ID) {
      std::string text;
      for (const char c : notes.subspan(desc, note.n_descsz))
        text += fmt::format("{:02x}", static_cast<std::uint8_t>(c));
      return text;
    }
    notes = notes.subspan(desc + padded(note.n_descsz));
  }
  return {};
}

// The first object is the program itself.
int find_id(dl_phdr_info* object, std::size_t, void* result) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const char*>(object->dlpi_addr + part.p_vaddr);
    auto& text = *static_cast<std::string*>(result);
    if (text = id_in({notes, part.p_memsz}); !text.empty()) break;
  }
  return 1;
}

}  // namespace

std::string build_id() {
  std::string text;
  dl_iterate_phdr(find_id, &text);
  return text;
}

}  // namespace weft
