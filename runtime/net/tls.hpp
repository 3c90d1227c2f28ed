#pragma once
// The settings of node.tls. Connections use TLS 1.3, and both sides must show a certificate signed by the
// job's CA. There is no fallback. No OpenSSL in this header.

#include <memory>
#include <string>

struct ssl_ctx_st;

namespace d9d::net {

struct TlsFiles {
  std::string ca;  // PEM
  std::string certificate;
  std::string key;
};

class Tls {
 public:
  // Reads and checks the files. The input error names the key of the job file. Errors: a file
  // cannot be read, the private key does not belong to the certificate, the CA has not signed it,
  // or it is not valid today.
  explicit Tls(const TlsFiles& files);

  ssl_ctx_st* context() const { return context_.get(); }

 private:
  std::shared_ptr<ssl_ctx_st> context_;
};

}  // namespace d9d::net
