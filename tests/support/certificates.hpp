#pragma once
// Certificates made when a test runs, so that none in the tree expires: an authority, and nodes that it signed.

#include <filesystem>
#include <memory>
#include <string>

#include "runtime/net/tls.hpp"

struct evp_pkey_st;
struct x509_st;

namespace d9d::test {

class Authority {
 public:
  // Writes NAME-ca.pem into the folder.
  Authority(const std::filesystem::path& folder, const std::string& name);

  struct Validity {
    long begins_s = -3600, ends_s = 3600;  // from now
  };
  // Writes NAME.pem and NAME.key.
  net::TlsFiles issue(const std::string& name, Validity validity) const;
  net::TlsFiles issue(const std::string& name) const { return issue(name, {}); }
  std::string ca() const { return ca_; }

 private:
  const std::filesystem::path folder_;
  const std::string ca_;
  std::shared_ptr<evp_pkey_st> key_;
  std::shared_ptr<x509_st> certificate_;
};

}  // namespace d9d::test
