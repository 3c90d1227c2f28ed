#pragma once
// Routes behind a port: pages for GET and HEAD, actions for POST. Each answer closes its connection. The size of a request,
// its time and the number of clients are bounded, so that slow and endless ones cost the others nothing.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "runtime/base/host/host_port.hpp"
#include "runtime/live/http_answer.hpp"

struct ssl_ctx_st;

namespace d9d::live {

// The oldest connection goes when there is no room for a new one; first those that have not sent their request yet.
struct HttpLimits {
  std::chrono::milliseconds request = std::chrono::seconds(10);  // to send it whole, TLS included
  std::chrono::milliseconds answer = std::chrono::seconds(30);   // to take it whole
  std::size_t connections = 64;
  std::size_t waiting = 8;  // for an answer of one path; others are told 503
  std::uint32_t head_bytes = 16384;
  std::size_t headers = 100;
  std::uint64_t body_bytes = 4096;  // ignored
};

struct HttpServerOptions {
  HostPort address;        // port 0: the system chooses
  std::string key;         // of the job file, for errors
  std::string token = {};  // lets actions be asked for from other hosts (request_rules.hpp)
  std::string content_policy = "default-src 'none'; frame-ancestors 'none'";  // for browsers
  ssl_ctx_st* tls = nullptr;                                                  // null: in clear
  HttpLimits limits = {};
};

struct Caller {
  bool may_act = false;
};

class HttpServer {
 public:
  // By path. Called from the server's threads, of one path one at a time. An exception is answered with 500 and its text.
  using Routes = std::map<std::string, std::function<HttpAnswer(const Caller&)>>;

  // Serves until it is destroyed. Environment error, with the name of the key: the address cannot be used.
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
