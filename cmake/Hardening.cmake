# Options of the compiler and the linker that make errors in memory hard to exploit, for every target
# of this project. None of them is exported. Sanitizers find more and cannot be combined with them;
# builds without optimization do not need them.
#
#   WEFT_HARDENED           whether this build has it
#   WEFT_KERNEL_HARDENING   options that the kernels add after these: their loops have no checks
include(CheckCXXCompilerFlag)
include(CheckPIESupported)

option(WEFT_HARDEN "Protect stacks, jumps, copies and containers of optimized builds" ON)
set(WEFT_KERNEL_HARDENING)

check_pie_supported(LANGUAGES CXX)

# No element of the path in a binary may be empty or relative: it would stand for the current folder,
# and a library that lies there would be loaded. CMake pads paths that it replaces on installation
# with empty ones, so those of the build tree are the installed ones: both have bin beside lib.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")

if(NOT WEFT_HARDEN OR WEFT_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL Debug)
  set(WEFT_HARDENED OFF)
  return()
endif()
set(WEFT_HARDENED ON)

# "SHELL:" keeps options together that CMake would take for repeated ones. Some distributions define
# the macro themselves.
check_cxx_compiler_flag(-fhardened WEFT_HAS_HARDENED)  # GCC 14 has a set of its own
if(WEFT_HAS_HARDENED)
  set(options -fhardened -Wno-hardened)
else()
  set(options -fstack-protector-strong -fstack-clash-protection
    "SHELL:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$<IF:$<CXX_COMPILER_ID:GNU>,3,2>" -D_GLIBCXX_ASSERTIONS)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND options -fcf-protection=full)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    list(APPEND options -mbranch-protection=standard)
  endif()
endif()
target_compile_options(weft_compile_options INTERFACE ${options})
target_link_options(weft_compile_options INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)

# Kernels read and write what a plan has checked before.
set(WEFT_KERNEL_HARDENING -fno-stack-protector -fno-stack-clash-protection -U_FORTIFY_SOURCE -U_GLIBCXX_ASSERTIONS)
if(WEFT_HAS_HARDENED)
  list(PREPEND WEFT_KERNEL_HARDENING -fno-hardened)
endif()
