#pragma once
// Names that stand for secret texts. Equal texts have equal names; a name tells nothing of a text
// that cannot be guessed.

#include <array>
#include <string>
#include <string_view>

namespace weft::http {

using Sha256 = std::array<unsigned char, 32>;
// Throws std::bad_alloc.
Sha256 sha256(std::string_view text);
// 32 hexadecimal digits: half of the SHA-256.
std::string digest_name(std::string_view text);

}  // namespace weft::http
