#pragma once
// A client of HTTP over a plain socket, so that a test may send what no library would: half a request, one without an
// end, one for another host. Every answer ends with its connection.

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>

namespace d9d::test {

class HttpConnection {
 public:
  explicit HttpConnection(int port, const std::string& address = "127.0.0.1")
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    inet_pton(AF_INET, address.c_str(), &to.sin_addr);
    is_open_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  ~HttpConnection() { ::close(socket_); }
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  bool is_open() const { return is_open_; }
  // False when the other side has closed.
  bool send(const std::string& text) const {
    std::size_t sent = 0;
    while (sent < text.size()) {
      const auto count = ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return false;
      sent += static_cast<std::size_t>(count);
    }
    return true;
  }
  // All until the other side closes.
  std::string rest() const {
    std::string text;
    char bytes[65536];
    for (;;) {
      const auto count = ::recv(socket_, bytes, sizeof bytes, 0);
      if (count <= 0) return text;
      text.append(bytes, static_cast<std::size_t>(count));
    }
  }

 private:
  const int socket_;
  bool is_open_ = false;
};

struct HttpReply {
  int status = 0;                                   // 0: nobody answered
  std::map<std::string, std::string> headers = {};  // by name in small letters
  std::string body = {};
};

inline HttpReply reply_of(const std::string& text) {
  HttpReply reply;
  const std::size_t end = text.find("\r\n\r\n");
  if (!text.starts_with("HTTP/1.1 ") || end == std::string::npos) return reply;
  reply.status = std::stoi(text.substr(9, 3));
  reply.body = text.substr(end + 4);
  for (std::size_t at = text.find("\r\n"); at < end; at = text.find("\r\n", at + 2)) {
    const std::size_t colon = text.find(": ", at);
    std::string name = text.substr(at + 2, colon - at - 2);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    reply.headers[name] = text.substr(colon + 2, text.find("\r\n", colon) - colon - 2);
  }
  return reply;
}

// `headers`: whole lines, each with its "\r\n"; without a Host among them one is added.
inline HttpReply http(const std::string& method, int port, const std::string& path,
                      std::string headers = {}) {
  if (headers.find("Host: ") == std::string::npos) headers += fmt::format("Host: 127.0.0.1:{}\r\n", port);
  const HttpConnection connection(port);
  if (!connection.is_open()) return {};
  connection.send(method + " " + path + " HTTP/1.1\r\n" + headers + "\r\n");
  return reply_of(connection.rest());
}
inline HttpReply http_get(int port, const std::string& path, const std::string& headers = {}) {
  return http("GET", port, path, headers);
}
inline HttpReply http_post(int port, const std::string& path, const std::string& headers = {}) {
  return http("POST", port, path, headers);
}

}  // namespace d9d::test
