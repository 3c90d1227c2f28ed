#include "runtime/live/content_policy.hpp"

#include <openssl/evp.h>

#include <array>

#include "runtime/base/error.hpp"

namespace d9d::live {
namespace {

std::string base64_sha256(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  const int made = EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  D9D_CHECK(made == 1, "OpenSSL makes no SHA-256 of {} bytes", bytes.size());
  std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> text{};
  const int length = EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(size));
  return {text.begin(), text.begin() + length};
}

}  // namespace

std::string content_policy(std::string_view script) {
  return "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; base-uri 'none'; "
         "frame-ancestors 'none'; script-src 'sha256-" +
         base64_sha256(script) + "'";
}

}  // namespace d9d::live
