#include "runtime/net/tls.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <fstream>

#include "runtime/base/error.hpp"

namespace d9d::net {
namespace {

// Returns the newest error of OpenSSL's queue, and empties the queue.
std::string reason() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* text = code != 0 ? ERR_reason_error_string(code) : nullptr;
  return text != nullptr ? text : "unknown reason";
}

void require_files(const TlsFiles& files) {
  const int given = !files.ca.empty() + !files.certificate.empty() + !files.key.empty();
  D9D_REQUIRE(
      given == 3,
      "node.tls needs ca, certificate and key together; only {} of the three is given. Without all of "
      "them the connection would not be authenticated",
      given);
  const std::pair<const char*, const std::string&> all[] = {
      {"ca", files.ca}, {"certificate", files.certificate}, {"key", files.key}};
  for (const auto& [key, path] : all) {
    D9D_REQUIRE(std::ifstream(path).good() && std::ifstream(path).peek() != EOF,
                "node.tls.{}: cannot read {}; give the path of a PEM file", key, path);
  }
}

// Refuses a key with a passphrase, because the question for it would hang an unattended job.
int no_passphrase(char*, int, int, void*) {
  return -1;
}

void load(SSL_CTX* context, const TlsFiles& files) {
  SSL_CTX_set_default_passwd_cb(context, no_passphrase);
  D9D_REQUIRE(SSL_CTX_load_verify_locations(context, files.ca.c_str(), nullptr) == 1,
              "node.tls.ca: {} holds no certificate in PEM ({})", files.ca, reason());
  D9D_REQUIRE(SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) == 1,
              "node.tls.certificate: {} holds no certificate in PEM ({})", files.certificate, reason());
  if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) == 1) return;
  const unsigned long code = ERR_peek_last_error();
  const bool mismatch = ERR_GET_LIB(code) == ERR_LIB_X509;
  const std::string why = reason();
  D9D_REQUIRE(!mismatch,
              "node.tls.key: {} is not the key of the certificate {}; give the two that were made together",
              files.key, files.certificate);
  throw Error(
      ErrorKind::input,
      fmt::format("node.tls.key: {} holds no private key in PEM without a passphrase ({})", files.key, why));
}

// Checks the certificate as every peer will, for both roles: a node is the server of some connections and
// the client of others.
void verify_own_certificate(SSL_CTX* context, const TlsFiles& files, int purpose) {
  const std::unique_ptr<X509_STORE_CTX, void (*)(X509_STORE_CTX*)> check(X509_STORE_CTX_new(),
                                                                         X509_STORE_CTX_free);
  STACK_OF(X509)* chain = nullptr;
  SSL_CTX_get0_chain_certs(context, &chain);
  X509_STORE_CTX_init(check.get(), SSL_CTX_get_cert_store(context), SSL_CTX_get0_certificate(context), chain);
  X509_STORE_CTX_set_purpose(check.get(), purpose);
  if (X509_verify_cert(check.get()) == 1) return;
  const int code = X509_STORE_CTX_get_error(check.get());
  const std::string why = X509_verify_cert_error_string(code);
  ERR_clear_error();
  const bool expired = code == X509_V_ERR_CERT_HAS_EXPIRED || code == X509_V_ERR_CERT_NOT_YET_VALID;
  D9D_REQUIRE(!expired, "node.tls.certificate: {} is not valid today ({}); have a new one made",
              files.certificate, why);
  D9D_REQUIRE(
      code != X509_V_ERR_INVALID_PURPOSE,
      "node.tls.certificate: {} may not be used for both sides of a connection ({}); its extended key usage "
      "has to name serverAuth and clientAuth, or be absent",
      files.certificate, why);
  throw Error(ErrorKind::input,
              fmt::format("node.tls.certificate: {} is not signed by node.tls.ca {} ({}); every node needs a "
                          "certificate of the same CA",
                          files.certificate, files.ca, why));
}

}  // namespace

Tls::Tls(const TlsFiles& files) : context_(SSL_CTX_new(TLS_method()), SSL_CTX_free) {
  D9D_CHECK(context_ != nullptr, "OpenSSL makes no context: {}", reason());
  require_files(files);
  SSL_CTX* const context = context_.get();
  load(context, files);
  for (const int purpose : {X509_PURPOSE_SSL_SERVER, X509_PURPOSE_SSL_CLIENT})
    verify_own_certificate(context, files, purpose);
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_mode(context,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_AUTO_RETRY);
  // Sends no session tickets: no session is resumed, and a ticket that the client never reads would make
  // its close a reset.
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

}  // namespace d9d::net
