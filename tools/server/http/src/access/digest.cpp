#include "weft/http/digest.h"

#include <new>

#include <fmt/format.h>
#include <openssl/evp.h>

namespace weft::http {

Sha256 sha256(std::string_view text) {
  Sha256 result;
  if (EVP_Digest(text.data(), text.size(), result.data(), nullptr, EVP_sha256(), nullptr) != 1)
    throw std::bad_alloc();
  return result;
}

std::string digest_name(std::string_view text) {
  const Sha256 hash = sha256(text);
  std::string name;
  for (std::size_t i = 0; i < hash.size() / 2; ++i)
    fmt::format_to(std::back_inserter(name), "{:02x}", hash[i]);
  return name;
}

}  // namespace weft::http
