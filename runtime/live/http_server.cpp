#include "runtime/live/http_server.hpp"

#include <httplib.h>

#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "runtime/base/error.hpp"

namespace d9d::live {
namespace {

constexpr std::size_t threads = 2;
constexpr std::chrono::seconds patience{5};  // with a client that neither sends nor reads
constexpr std::chrono::milliseconds glance{1};

// The library's own options let a second job take the same port and half of its connections.
void reuse_address_alone(socket_t socket) {
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

void answer(const std::function<HttpAnswer()>& route, httplib::Response& response) {
  HttpAnswer made;
  try {
    made = route();
  } catch (const std::exception& error) {
    made = {.status = 500, .type = "text/plain; charset=utf-8", .body = std::string(error.what()) + "\n"};
  }
  response.status = made.status;
  response.set_header("Cache-Control", "no-store");
  response.set_content(made.body, made.type);
}

// A page of somebody else that a browser has open may send requests here, but not without saying where it is from.
bool is_from_elsewhere(const httplib::Request& request) {
  const std::string origin = request.get_header_value("Origin");
  return !origin.empty() && origin != "http://" + request.get_header_value("Host") &&
         origin != "https://" + request.get_header_value("Host");
}

}  // namespace

HttpAnswer post(const HostPort& address, const std::string& path, const std::string& key) {
  httplib::Client client(address.host, address.port);
  client.set_connection_timeout(patience);
  client.set_read_timeout(patience);
  const auto answer = client.Post(path);
  if (!answer)
    throw Error(ErrorKind::environment, fmt::format("{}: nobody answers at http://{}{} ({})", key,
                                                    host_port_text(address.host, address.port), path,
                                                    httplib::to_string(answer.error())));
  return {.status = answer->status, .type = answer->get_header_value("Content-Type"), .body = answer->body};
}

struct HttpServer::Impl {
  httplib::Server server;
  std::thread thread;
};

HttpServer::HttpServer(const HostPort& address, const std::string& key, Routes pages, Routes actions)
    : impl_(std::make_unique<Impl>()) {
  httplib::Server& server = impl_->server;
  server.set_socket_options(reuse_address_alone);
  server.new_task_queue = [] { return new httplib::ThreadPool(threads); };
  server.set_keep_alive_max_count(1);
  server.set_read_timeout(patience);
  server.set_write_timeout(patience);
  for (auto& [path, route] : pages) {
    server.Get(path, [route = std::move(route)](const httplib::Request&, httplib::Response& response) {
      answer(route, response);
    });
  }
  // With a reader that nobody asks for a body: one without a length would be waited for.
  for (auto& [path, route] : actions) {
    server.Post(path, [route = std::move(route)](const httplib::Request& request, httplib::Response& response,
                                                 const httplib::ContentReader&) {
      if (!is_from_elsewhere(request)) return answer(route, response);
      response.status = 403;
      response.set_content("refused: asked by a page of " + request.get_header_value("Origin") + "\n",
                           "text/plain; charset=utf-8");
    });
  }
  int port = address.port;
  const bool bound = port == 0 ? (port = server.bind_to_any_port(address.host)) > 0
                               : server.bind_to_port(address.host, port);
  if (!bound)
    throw Error(ErrorKind::environment,
                fmt::format("{}: cannot listen on {}: the address is not of this host, or the port is taken; "
                            "give another one, or port 0 for a free one",
                            key, host_port_text(address.host, address.port)));
  port_ = static_cast<std::uint16_t>(port);
  impl_->thread = std::thread([&server] { server.listen_after_bind(); });
  // Before it runs, stop() does nothing.
  while (!server.is_running()) std::this_thread::sleep_for(glance);
}

HttpServer::~HttpServer() {
  impl_->server.stop();
  impl_->thread.join();
}

}  // namespace d9d::live
