// What GCC 12's static libraries use of C libraries newer than 2.31, for programs that run on that
// one: sysroot.sh adds it to libc_nonshared.a, so each program and shared library has its own.

#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

// 2.32: whether there is one thread. std::shared_ptr saves atomic operations then; "no" is always
// right.
char __libc_single_threaded = 0;

// 2.36, for std::random_device.
uint32_t arc4random(void) {
  uint32_t number;
  if (getentropy(&number, sizeof number) != 0) abort();
  return number;
}

// 2.35: the loaded object at an address, for the unwinder, with the layout of <dlfcn.h> there.
struct dl_find_object {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  struct link_map* link_map;
  void* eh_frame;
  unsigned long long reserved[7];
};

struct search {
  uintptr_t address;
  struct dl_find_object* result;
};

static int find_in_object(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  struct search* const search = data;
  const ElfW(Phdr)* frame = NULL;
  int is_inside = 0;
  uintptr_t start = UINTPTR_MAX, end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const header = &info->dlpi_phdr[i];
    if (header->p_type == PT_GNU_EH_FRAME) frame = header;
    if (header->p_type != PT_LOAD) continue;
    const uintptr_t first = info->dlpi_addr + header->p_vaddr;
    if (search->address - first < header->p_memsz) is_inside = 1;
    if (first < start) start = first;
    if (first + header->p_memsz > end) end = first + header->p_memsz;
  }
  if (!is_inside || !frame) return 0;
  *search->result = (struct dl_find_object){.map_start = (void*)start,
                                            .map_end = (void*)end,
                                            .eh_frame = (void*)(info->dlpi_addr + frame->p_vaddr)};
  return 1;
}

int _dl_find_object(void* address, struct dl_find_object* result) {
  struct search search = {(uintptr_t)address, result};
  return dl_iterate_phdr(find_in_object, &search) ? 0 : -1;
}
