#include "runtime/net/proof.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "runtime/base/error.hpp"
#include "runtime/net/fail.hpp"

namespace d9d::net {
namespace {

constexpr int rounds_of_a_token = 20'000;
constexpr char salt[] = "d9d job token";

const unsigned char* bytes(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

template <class Array>
unsigned char* bytes(Array& array) {
  return reinterpret_cast<unsigned char*>(array.data());
}

// Writes the length before each part, so that different lists of parts never make the same bytes.
void add(std::string& into, std::string_view part) {
  into += fmt::format("{}:", part.size());
  into += part;
}

Proof hmac(const Key& key, const std::string& text) {
  Proof proof{};
  unsigned int size = 0;
  const bool done = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes(text), text.size(),
                         bytes(proof), &size) != nullptr;
  D9D_CHECK(done && size == proof.size(), "OpenSSL computes no HMAC");
  return proof;
}

}  // namespace

Key key_of(const Secret& secret) {
  Key key{};
  const int rounds = secret.kind == SecretKind::token ? rounds_of_a_token : 1;
  const int done = PKCS5_PBKDF2_HMAC(secret.text.data(), static_cast<int>(secret.text.size()),
                                     reinterpret_cast<const unsigned char*>(salt), sizeof(salt), rounds,
                                     EVP_sha256(), static_cast<int>(key.size()), bytes(key));
  D9D_CHECK(done == 1, "OpenSSL derives no key");
  return key;
}

Key member_key_of(const Key& job, const std::string& membership) {
  std::string text;
  add(text, "d9d member");
  add(text, membership);
  return hmac(job, text);
}

Nonce fresh_nonce() {
  Nonce nonce{};
  if (RAND_bytes(bytes(nonce), static_cast<int>(nonce.size())) != 1)
    fail_environment("the system gives no random bytes");
  return nonce;
}

std::string random_text() {
  std::string text;
  for (const char byte : fresh_nonce()) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

Proof proof_of(const Key& key, Side side, const Said& said) {
  std::string text;
  add(text, side == Side::dials ? "d9d dials" : "d9d accepts");
  add(text, said.hello);
  add(text, {said.challenge.data(), said.challenge.size()});
  add(text, said.binding);
  return hmac(key, text);
}

bool same(const Proof& a, const Proof& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace d9d::net
