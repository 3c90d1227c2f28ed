#pragma once
// Routes behind a port: pages for GET and HEAD, actions for POST. Each answer closes its connection.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "runtime/base/host_port.hpp"

namespace d9d::live {

struct HttpAnswer {
  int status = 200;
  std::string type;  // of the body: "text/html; charset=utf-8"
  std::string body;
};

// Sends a POST without a body. Environment error, with the name of `key`, where no server answers.
HttpAnswer post(const HostPort& address, const std::string& path, const std::string& key);

class HttpServer {
 public:
  // By path. Called from the server's threads, several at a time. What one throws is answered with 500 and its text.
  using Routes = std::map<std::string, std::function<HttpAnswer()>>;

  // Serves until it is destroyed. Port 0: the system chooses. Environment error, with the name of `key`: the
  // address cannot be used.
  HttpServer(const HostPort& address, const std::string& key, Routes pages, Routes actions = {});
  // Waits for the requests under way.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const { return port_; }

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
  std::uint16_t port_ = 0;
};

}  // namespace d9d::live
