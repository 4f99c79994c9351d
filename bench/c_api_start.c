/* c_api_start LIBRARY   loads libweft.so; prints milliseconds until its first call has returned */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const double begin = now();
  void* library = dlopen(argv[1], RTLD_NOW);
  uint32_t (*version)(void) = NULL;
  if (library == NULL) {
    fprintf(stderr, "c_api_start: %s\n", dlerror());
    return 1;
  }
  *(void**)&version = dlsym(library, "weft_api_version");
  if (version == NULL || version() == 0) return 1;
  printf("%.3f\n", 1e3 * (now() - begin));
  return 0;
}
