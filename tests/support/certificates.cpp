#include "tests/support/certificates.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <random>
#include <stdexcept>

namespace d9d::test {
namespace {

using Key = std::shared_ptr<EVP_PKEY>;
using Certificate = std::shared_ptr<X509>;

void require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

Key new_key() {
  return {EVP_EC_gen("P-256"), EVP_PKEY_free};
}

void extend(X509* certificate, int extension, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const made = X509V3_EXT_conf_nid(nullptr, &context, extension, value);
  require(made != nullptr && X509_add_ext(certificate, made, -1) == 1, "extension");
  X509_EXTENSION_free(made);
}

Certificate unsigned_certificate(const std::string& name, const Key& key, long begins_s, long ends_s) {
  Certificate made(X509_new(), X509_free);
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(made.get()), std::random_device()());
  X509_gmtime_adj(X509_getm_notBefore(made.get()), begins_s);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), ends_s);
  X509_set_pubkey(made.get(), key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return made;
}

template <class Write>
std::string to_file(const std::filesystem::path& path, Write&& write) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "w"), std::fclose);
  require(file != nullptr && write(file.get()) == 1, "cannot write a PEM file");
  return path.string();
}

}  // namespace

Authority::Authority(const std::filesystem::path& folder, const std::string& name)
    : folder_(folder), ca_((folder / (name + "-ca.pem")).string()), key_(new_key()) {
  certificate_ = unsigned_certificate(name, key_, -7200, 7200);
  X509_set_issuer_name(certificate_.get(), X509_get_subject_name(certificate_.get()));
  extend(certificate_.get(), NID_basic_constraints, "critical,CA:TRUE");
  require(X509_sign(certificate_.get(), key_.get(), EVP_sha256()) > 0, "cannot sign");
  to_file(ca_, [&](FILE* file) { return PEM_write_X509(file, certificate_.get()); });
}

net::TlsFiles Authority::issue(const std::string& name, Validity validity) const {
  const Key key = new_key();
  const Certificate made = unsigned_certificate(name, key, validity.begins_s, validity.ends_s);
  X509_set_issuer_name(made.get(), X509_get_subject_name(certificate_.get()));
  require(X509_sign(made.get(), key_.get(), EVP_sha256()) > 0, "cannot sign");
  return {.ca = ca_,
          .certificate =
              to_file(folder_ / (name + ".pem"), [&](FILE* f) { return PEM_write_X509(f, made.get()); }),
          .key = to_file(folder_ / (name + ".key"), [&](FILE* f) {
            return PEM_write_PrivateKey(f, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

}  // namespace d9d::test
