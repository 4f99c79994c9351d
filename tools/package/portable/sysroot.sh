#!/usr/bin/env bash
# usage: sysroot.sh ARCHITECTURE OUT
#
# Makes the folder OUT, which cmake/portable.cmake builds against: the C library of Debian 11, and
# as static archives the libraries of Debian 12 that programs are linked with (packages.txt).
# ARCHITECTURE is x86_64 or aarch64. Takes packages from the mirror of this machine, or from
# WEFT_DEBIAN_MIRROR, and keeps them in OUT.packages. Does nothing if OUT is made from the same files.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

linked_in="bsd crypto edit md ssl tinfo ncurses uring utf8proc z"

fail() {
  echo "sysroot: $*" >&2
  exit 1
}

case ${1-} in
  x86_64) debian=amd64 ;;
  aarch64) debian=arm64 ;;
  --help | -h)
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  *) fail "expected x86_64 or aarch64, got '${1-}'" ;;
esac
(($# == 2)) || fail "expected ARCHITECTURE OUT"
architecture=$1
triple=$architecture-linux-gnu
mkdir -p "$2.packages"
out=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
root=$(cd "$here/../../.." && pwd)

made_from=$(cat "$here"/{packages.txt,sysroot.sh,new_in_glibc.c} "$root/cmake/portable.cmake" | sha256sum | cut -d' ' -f1)
[[ -f $out/made_from && $(< "$out/made_from") == "$made_from" ]] && exit 0

# shellcheck disable=SC2016 # apt's variables
mirror=${WEFT_DEBIAN_MIRROR-$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' \
  'Codename: bookworm' | head -n 1)}
[[ $mirror ]] || fail "this is not Debian 12: set WEFT_DEBIAN_MIRROR to the address of a mirror of Debian"

# An apt of its own, which neither sees nor changes the packages of this machine.
packages=$out.packages
mkdir -p "$packages"/{state/lists/partial,cache/archives/partial,files}
touch "$packages/status"
keys=/usr/share/keyrings/debian-archive-keyring.gpg
for suite in bullseye bookworm; do
  echo "deb [arch=$debian signed-by=$keys] $mirror $suite main"
  echo "deb-src [signed-by=$keys] $mirror $suite main"
done > "$packages/sources.list"
apt_options=(-qq -o "Dir::State=$packages/state" -o "Dir::State::status=$packages/status"
  -o "Dir::Cache=$packages/cache" -o "Dir::Etc::SourceList=$packages/sources.list"
  -o Dir::Etc::SourceParts=/dev/null -o "APT::Architecture=$debian" -o "APT::Architectures=$debian"
  -o APT::Sandbox::User=root)
apt-get "${apt_options[@]}" update
mapfile -t wanted < <(sed 's/#.*//' "$here/packages.txt" | awk 'NF { print $1 "/" $2 }')
(cd "$packages/files" && rm -f ./*.deb && apt-get "${apt_options[@]}" download "${wanted[@]}" \
  && apt-get "${apt_options[@]}" --download-only source onetbb/bookworm fmtlib/bookworm)
# The C library that images contain.
mkdir -p "$packages/image"
(cd "$packages/image" && rm -f ./*.deb && apt-get "${apt_options[@]}" download libc6/bookworm)

rm -rf "$out"
mkdir -p "$out"/usr/lib "$out"/usr/include
# As on Debian 12, where these are links, so that packages of both agree.
mkdir -p "$out/usr/lib64" && ln -s usr/lib "$out/lib" && ln -s usr/lib64 "$out/lib64"
for package in "$packages"/files/*.deb; do
  dpkg-deb --fsys-tarfile "$package" \
    | tar -x -C "$out" --keep-directory-symlink --exclude='./usr/share/doc' \
      --exclude='./usr/share/man'
done
find "$out" -type l -lname '/*' -printf '%p %l\n' | while read -r link target; do
  ln -sfn "$(realpath -sm --relative-to="$(dirname "$link")" "$out$target")" "$link"
done

mkdir -p "$out/image"
cp "$packages"/image/libc6_*.deb "$out/image/libc6.deb"

# Versions and licences of all that is linked in, for tools/package/carried.py.
mkdir -p "$out/licences"
# carried NAME VERSION FILE
carried() {
  cp "$3" "$out/licences/$1"
  printf '%s\t%s\n' "$1" "$2" >> "$out/carried.txt"
}
sed 's/#.*//' "$here/packages.txt" | awk '$2 == "bookworm" { print $1 }' | while read -r package; do
  file=("$packages/files/${package}"_*.deb)
  dpkg-deb --fsys-tarfile "${file[0]}" > "$packages/package.tar"
  # The copyright of some is that of the package that they belong to.
  tar -xO -f "$packages/package.tar" --wildcards './usr/share/doc/*/copyright' > "$packages/copyright" 2> /dev/null \
    || cp /usr/share/doc/"$package"/copyright "$packages/copyright"
  carried "$package" "$(dpkg-deb --field "${file[0]}" Version)" "$packages/copyright"
done
compiler=$architecture-linux-gnu-gcc
carried libstdc++ "$("$compiler" -dumpfullversion)" /usr/share/doc/libstdc++6/copyright

# Libraries that are linked in are there as archives alone. The C library, OpenCL's loader and MPI are
# those of the machine that a program runs on.
libraries=$out/usr/lib/$triple
for library in $linked_in; do
  [[ -f $libraries/lib$library.a ]] || fail "lib$library.a is missing"
  rm -f "$libraries/lib$library".so*
done
# An archive does not name what it needs.
(cd "$libraries" && printf 'create all.a\naddlib libedit.a\naddlib libbsd.a\naddlib libmd.a\naddlib libtinfo.a\nsave\nend\n' \
  | ar -M && mv all.a libedit.a)

# GCC's archives use three functions that this C library lacks; each program gets them as it gets
# what else glibc links statically.
"$compiler" --sysroot="$out" -O2 -fPIC -fvisibility=hidden -Wall -Wextra -Werror -c \
  "$here/new_in_glibc.c" -o "$packages/new_in_glibc.o"
ar rD "$libraries/libc_nonshared.a" "$packages/new_in_glibc.o"

# build PACKAGE OPTION...: a static library from Debian's source.
build() {
  local name=$1 source=$packages/source/$1
  shift
  rm -rf "$source" "$source.build"
  mkdir -p "$packages/source"
  dpkg-source -q --no-check -x "$packages/files/$name"_*.dsc "$source" > /dev/null
  cmake -S "$source" -B "$source.build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$root/cmake/portable.cmake" \
    -DWEFT_SYSROOT="$out" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr \
    -DCMAKE_INSTALL_LIBDIR="lib/$triple" -DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DCMAKE_CXX_FLAGS="-ffile-prefix-map=$packages/source=." "$@"
  cmake --build "$source.build"
  DESTDIR=$out cmake --install "$source.build"
  carried "$name" "$(sed -n 's/^Version: //p' "$packages/files/$name"_*.dsc | head -n 1)" "$source/debian/copyright"
}
{
  build onetbb -DTBB_TEST=OFF -DTBBMALLOC_BUILD=OFF -DTBB_STRICT=OFF
  build fmtlib -DFMT_TEST=OFF -DFMT_DOC=OFF
} > "$packages/log" 2>&1 || {
  tail -n 40 "$packages/log" >&2
  fail "a library could not be built"
}
rm -rf "$packages/source"
echo "$made_from" > "$out/made_from"
