# Nix. Not built here: checked by `nix-instantiate --parse`.
{ lib, stdenv, fetchurl, cmake, ninja, boost, cli11, fmt, libedit, liburing, nlohmann_json, openssl, tbb_2021
, tomlplusplus, utf8proc, xsimd, xxHash, zlib }:

stdenv.mkDerivation (final: {
  pname = "weft";
  version = "@VERSION@";

  src = fetchurl {
    url = "@URL@";
    sha256 = "@SHA256@";
  };

  nativeBuildInputs = [ cmake ninja ];
  buildInputs = [
    boost cli11 fmt libedit liburing nlohmann_json openssl tbb_2021 tomlplusplus utf8proc xsimd xxHash zlib
  ];
  cmakeFlags = [ "-DWEFT_ISAS=all" "-DWEFT_BUILD_TESTS=OFF" "-DWEFT_BUILD_PYTHON=OFF" ];

  meta = {
    description = "Runs language models on CPUs and lets you inspect every step";
    homepage = "@HOMEPAGE@";
    license = lib.licenses.asl20;
    mainProgram = "weft";
    platforms = [ "x86_64-linux" "aarch64-linux" ];
  };
})
