# Homebrew, on Linux. Not built here: checked by `ruby -c`.
class Weft < Formula
  desc "Runs language models on CPUs and lets you inspect every step"
  homepage "@HOMEPAGE@"
  url "@URL@"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on "boost" => :build
  depends_on "cli11" => :build
  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "nlohmann-json" => :build
  depends_on "tomlplusplus" => :build
  depends_on "xsimd" => :build
  depends_on "xxhash" => :build
  depends_on "fmt"
  depends_on "libedit"
  depends_on "liburing"
  depends_on :linux
  depends_on "openssl@3"
  depends_on "tbb"
  depends_on "utf8proc"
  depends_on "zlib"

  def install
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DWEFT_ISAS=all", "-DWEFT_BUILD_TESTS=OFF",
           "-DWEFT_BUILD_PYTHON=OFF", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    assert_match "Lily", shell_output("#{bin}/generate -p 'Lily' -n 1")
  end
end
