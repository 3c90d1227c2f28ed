#pragma once
// Serves routes on a port: pages for GET and HEAD, actions for POST. Each answer closes its
// connection. The size and time of a request and the number of clients are bounded, so that slow
// and endless requests do not affect others.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "runtime/base/host/host_port.hpp"
#include "runtime/live/http_answer.hpp"

struct ssl_ctx_st;

namespace d9d::live {

// If there is no room for a new connection, the oldest one is closed; first those that have not
// sent their request yet.
struct HttpLimits {
  std::chrono::milliseconds request = std::chrono::seconds(10);  // for the whole request, TLS included
  std::chrono::milliseconds answer = std::chrono::seconds(30);   // for the whole answer
  std::size_t connections = 64;
  std::size_t waiting = 8;  // clients of one path; others are answered 503
  std::uint32_t head_bytes = 16384;
  std::size_t headers = 100;
  std::uint64_t body_bytes = 4096;  // ignored
};

struct HttpServerOptions {
  HostPort address;        // port 0: the system chooses
  std::string key;         // of the job file, for errors
  std::string token = {};  // allows actions from other hosts (request_rules.hpp)
  std::string content_policy = "default-src 'none'; frame-ancestors 'none'";  // for browsers
  ssl_ctx_st* tls = nullptr;                                                  // null: in clear
  HttpLimits limits = {};
};

struct Caller {
  bool may_act = false;
};

class HttpServer {
 public:
  // The functions by path. They run on the server's threads, those of one path one at a time. An
  // exception is answered with 500 and its text.
  using Routes = std::map<std::string, std::function<HttpAnswer(const Caller&)>>;

  // Serves until it is destroyed. Environment error that names the key: the address cannot be used.
  HttpServer(const HttpServerOptions& options, Routes pages, Routes actions = {});
  // Waits for the requests that are being answered.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace d9d::live
