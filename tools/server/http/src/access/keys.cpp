#include "keys.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include <openssl/crypto.h>

#include "weft/base/error.h"
#include "weft/base/text.h"
#include "weft/base/text_file.h"
#include "weft/http/access.h"

namespace weft::http {
namespace {

bool fits_in_header(char c) {
  return static_cast<unsigned char>(c) > 0x20 && c != 0x7f;
}

}  // namespace

void KeySet::set(const std::vector<std::string>& keys) {
  std::vector<Sha256> hashes;
  for (const std::string& key : keys) {
    if (key.empty() || !std::all_of(key.begin(), key.end(), fits_in_header))
      fail<ValueError>("an API key must not be empty or hold blanks or control characters");
    hashes.push_back(sha256(key));
  }
  const std::lock_guard lock(mutex_);
  hashes_ = std::move(hashes);
}

bool KeySet::empty() const {
  const std::lock_guard lock(mutex_);
  return hashes_.empty();
}

bool KeySet::contains(std::string_view key) const {
  const Sha256 wanted = sha256(key);
  const std::lock_guard lock(mutex_);
  int found = 0;
  for (const Sha256& known : hashes_)
    found |= CRYPTO_memcmp(known.data(), wanted.data(), wanted.size()) == 0 ? 1 : 0;
  return found != 0;
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view item = trim(text.substr(0, end));
    if (!item.empty()) items.emplace_back(item);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return items;
}

std::vector<std::string> read_key_file(const std::string& path) {
  std::vector<std::string> keys;
  std::istringstream lines(read_text_file(path));
  for (std::string line; std::getline(lines, line);) {
    const std::string_view key = trim(line);
    if (!key.empty() && key.front() != '#') keys.emplace_back(key);
  }
  return keys;
}

}  // namespace weft::http
