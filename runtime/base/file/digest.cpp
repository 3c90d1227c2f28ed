#include "runtime/base/file/digest.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "runtime/base/error.hpp"
#include "runtime/base/file/mapped_file.hpp"

namespace d9d {

std::string sha256_of(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  const int made = EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  D9D_CHECK(made == 1, "OpenSSL makes no SHA-256");
  std::string text;
  for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string sha256_of_file(const std::filesystem::path& path) {
  return sha256_of(MappedFile(path).text());
}

}  // namespace d9d
