#include "runtime/net/tls_channel.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "runtime/base/error.hpp"

namespace d9d::net {
namespace {

constexpr std::size_t tls_batch_bytes = std::size_t{256} << 10;
constexpr std::size_t tls_read_bytes = std::size_t{64} << 10;

// The target of our BIO: a socket, written without SIGPIPE, which OpenSSL's own BIO would raise. In a batch
// the records of several writes are collected first.
struct Wire {
  int socket = -1;
  bool batches = false;
  std::vector<char> batch;
  std::size_t sent = 0;

  ssize_t send_now(const char* data, std::size_t bytes) const {
    return send(socket, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  // Returns 1 when the batch is empty, -1 with errno otherwise.
  int flush() {
    while (sent < batch.size()) {
      const ssize_t n = send_now(batch.data() + sent, batch.size() - sent);
      if (n < 0) return -1;
      sent += static_cast<std::size_t>(n);
    }
    batch.clear();
    sent = 0;
    return 1;
  }
};

Wire& wire_of(BIO* bio) {
  return *static_cast<Wire*>(BIO_get_data(bio));
}

int moved(BIO* bio, ssize_t n, int retry_flag) {
  BIO_clear_retry_flags(bio);
  if (n < 0 && try_again(errno)) BIO_set_flags(bio, retry_flag | BIO_FLAGS_SHOULD_RETRY);
  return static_cast<int>(n);
}

int bio_write(BIO* bio, const char* data, int bytes) {
  Wire& wire = wire_of(bio);
  const auto size = static_cast<std::size_t>(bytes);
  if (!wire.batches) return moved(bio, wire.send_now(data, size), BIO_FLAGS_WRITE);
  if (wire.batch.size() >= tls_batch_bytes && wire.flush() < 0) return moved(bio, -1, BIO_FLAGS_WRITE);
  wire.batch.insert(wire.batch.end(), data, data + size);
  return moved(bio, bytes, 0);
}

int bio_read(BIO* bio, char* data, int bytes) {
  return moved(bio, recv(wire_of(bio).socket, data, static_cast<std::size_t>(bytes), MSG_DONTWAIT),
               BIO_FLAGS_READ);
}

long bio_ctrl(BIO*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO* new_bio(Wire& wire) {
  static const auto method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "d9d socket");
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_ctrl(made, bio_ctrl);
    return made;
  }();
  BIO* const bio = BIO_new(method);
  BIO_set_data(bio, &wire);
  BIO_set_init(bio, 1);
  return bio;
}

// Explains an error of TLS in terms of the job file. An alert is what the other side found
// wrong with our certificate.
std::string words_of(unsigned long code, long verified) {
  const std::string ask = "; is it of the same node.tls.ca, and valid today?";
  if (verified == X509_V_ERR_CERT_HAS_EXPIRED) return "its certificate has expired";
  if (verified == X509_V_ERR_CERT_NOT_YET_VALID)
    return "its certificate is not valid yet; are the clocks right?";
  if (verified != X509_V_OK) {
    return fmt::format("its certificate is not signed by node.tls.ca ({})",
                       X509_verify_cert_error_string(verified));
  }
  switch (ERR_GET_REASON(code)) {
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return "it shows no certificate";
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
      return "it speaks no TLS: does its job file lack node.tls?";
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      return "it speaks an older TLS than 1.3";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
      return "it does not take this node's certificate (node.tls.certificate)" + ask;
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return "it says that this node's certificate (node.tls.certificate) has expired";
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return "it asks for a certificate; give node.tls {ca, certificate, key}";
    default: {
      const char* const text = ERR_reason_error_string(code);
      return fmt::format("TLS failed: {}", text != nullptr ? text : "unknown reason");
    }
  }
}

class TlsChannel final : public Channel {
 public:
  TlsChannel(Fd socket, const Tls& tls, Side side)
      : Channel(std::move(socket)), ssl_(SSL_new(tls.context()), SSL_free) {
    D9D_CHECK(ssl_ != nullptr, "OpenSSL makes no connection");
    wire_.socket = fd();
    BIO* const bio = new_bio(wire_);
    SSL_set_bio(ssl_.get(), bio, bio);
    SSL_set_default_read_buffer_len(ssl_.get(), tls_read_bytes);  // the handshake allocates it
    side == Side::accepts ? SSL_set_accept_state(ssl_.get()) : SSL_set_connect_state(ssl_.get());
  }

  Io shake_hands() override {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    return result == 1 ? Io::done : what_now(result);
  }

  Io read(void* data, std::size_t bytes, std::size_t& got) override {
    ERR_clear_error();
    const int result = SSL_read_ex(ssl_.get(), data, bytes, &got);
    drained_ = result != 1;
    return result == 1 ? Io::done : what_now(result);
  }

  // Joins a short head with the begin of the bytes that follow, so that they share a record.
  Io write(const iovec* parts, int num_parts, std::size_t& sent) override {
    ERR_clear_error();
    const iovec whole = num_parts == 1 ? parts[0] : gathered(parts, num_parts);
    const int result = SSL_write_ex(ssl_.get(), whole.iov_base, whole.iov_len, &sent);
    return result == 1 ? Io::done : what_now(result);
  }

  // Part of a record does not count: it can only be read when the rest has come.
  bool hides_bytes() const override { return !drained_ && SSL_has_pending(ssl_.get()) == 1; }

  std::string binding() const override {
    static constexpr char label[] = "EXPORTER-d9d";
    std::string bytes(32, '\0');
    const int done = SSL_export_keying_material(ssl_.get(), reinterpret_cast<unsigned char*>(bytes.data()),
                                                bytes.size(), label, sizeof(label) - 1, nullptr, 0, 0);
    D9D_CHECK(done == 1, "OpenSSL exports nothing of a connection");
    return bytes;
  }

  void expect_much() override {
    wire_.batches = true;
    wire_.batch.reserve(tls_batch_bytes + 2 * SSL3_RT_MAX_PLAIN_LENGTH);
    SSL_set_read_ahead(ssl_.get(), 1);
  }
  Io flush() override {
    if (wire_.flush() == 1) return Io::done;
    return try_again(errno) ? Io::writes : fail(std::strerror(errno));
  }

 private:
  iovec gathered(const iovec* parts, int num_parts) {
    std::size_t size = 0;
    for (int i = 0; i < num_parts && size < record_.size(); ++i) {
      const std::size_t some = std::min(parts[i].iov_len, record_.size() - size);
      std::memcpy(record_.data() + size, parts[i].iov_base, some);
      size += some;
    }
    return {record_.data(), size};
  }

  Io what_now(int result) {
    const int error = errno;
    switch (SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        return Io::reads;
      case SSL_ERROR_WANT_WRITE:
        return Io::writes;
      case SSL_ERROR_ZERO_RETURN:
        return fail(closed_text);
      default:
        break;
    }
    const unsigned long code = ERR_peek_error();
    ERR_clear_error();
    if (code != 0 && ERR_GET_REASON(code) != SSL_R_UNEXPECTED_EOF_WHILE_READING)
      return fail(words_of(code, SSL_get_verify_result(ssl_.get())));
    return fail(code != 0 || error == 0 ? closed_text : std::strerror(error));
  }

  Wire wire_;  // outlives its BIO, which ssl_ owns
  const std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
  bool drained_ = true;
  std::array<std::byte, SSL3_RT_MAX_PLAIN_LENGTH> record_;
};

}  // namespace

std::unique_ptr<Channel> make_tls_channel(Fd socket, const Tls& tls, Side side) {
  return std::make_unique<TlsChannel>(std::move(socket), tls, side);
}

}  // namespace d9d::net
