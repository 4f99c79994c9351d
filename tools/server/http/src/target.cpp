#include "target.h"

#include <algorithm>

#include "weft/base/text.h"
#include "weft/base/utf8.h"

#include "refused_error.h"

namespace weft::http {
namespace {

int hex_digit(char c) {
  const char l = to_lower(c);
  if (is_digit(c)) return c - '0';
  return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

void check_text(std::string_view path) {
  for (std::size_t at = 0; at < path.size();) {
    const Utf8Char c = decode_utf8(path, at);
    if (!c.valid) throw RefusedError(400, "the path is not UTF-8");
    if (c.code < 0x20 || (c.code >= 0x7f && c.code < 0xa0))
      throw RefusedError(400, "control character in the path");
    at += c.length;
  }
}

std::string decode_path(std::string_view text) {
  std::string path;
  path.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      path += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low < 0) throw RefusedError(400, "invalid escape in the path");
    path += static_cast<char>(high * 16 + low);
    i += 2;
  }
  check_text(path);
  return path;
}

// Removes "http://authority".
std::string_view take_authority(std::string_view target, std::string& authority) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!equals_ignoring_case(target.substr(0, scheme.size()), scheme)) continue;
    target.remove_prefix(scheme.size());
    const std::size_t end = std::min(target.find_first_of("/?"), target.size());
    authority = std::string(target.substr(0, end));
    if (authority.empty() || authority.find('@') != std::string::npos)
      throw RefusedError(400, "malformed request target");
    return target.substr(end);
  }
  throw RefusedError(400, "malformed request target");
}

}  // namespace

Target parse_target(std::string_view target) {
  Target result;
  if (target == "*") {
    result.path = "*";
    return result;
  }
  if (!target.starts_with('/')) target = take_authority(target, result.authority);
  target = target.substr(0, target.find('#'));
  const std::size_t mark = target.find('?');
  if (mark != std::string_view::npos) result.query = std::string(target.substr(mark + 1));
  std::string_view path = target.substr(0, mark);
  if (path.ends_with('/') && !path.ends_with("//")) path.remove_suffix(1);
  result.path = decode_path(path);
  if (result.path.empty()) result.path = "/";
  return result;
}

}  // namespace weft::http
