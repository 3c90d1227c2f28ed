#pragma once
// node.tls: what this process proves itself with, and what it asks of others: TLS 1.3, a certificate on both
// sides, signed by the job's CA. There is no other way in. No OpenSSL in this header.

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
  // Input error naming the key of the job file when a file is missing or cannot be read, the key does not belong
  // to the certificate, or the certificate is not signed by the CA or not valid today.
  explicit Tls(const TlsFiles& files);

  ssl_ctx_st* context() const { return context_.get(); }

 private:
  std::shared_ptr<ssl_ctx_st> context_;
};

}  // namespace d9d::net
