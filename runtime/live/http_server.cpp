#include "runtime/live/http_server.hpp"

#include <openssl/ssl.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <exception>
#include <future>
#include <list>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/base/host/network.hpp"
#include "runtime/base/log.hpp"
#include "runtime/live/request_rules.hpp"

namespace d9d::live {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using ErrorCode = beast::error_code;

constexpr std::size_t threads = 2;
constexpr std::chrono::seconds last_answer{1};            // when the server ends; twice that at most
constexpr std::chrono::milliseconds rest_of_accept{100};  // when no descriptor is left
constexpr unsigned http_1_1 = 11;
constexpr const char* words_of_proxies[] = {"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host",
                                            "X-Real-IP"};

struct Route {
  std::function<HttpAnswer(const Caller&)> make;
  asio::strand<asio::thread_pool::executor_type> turns;
  std::size_t waiting = 0;
};

enum class Stage { reading, making, writing };

class Connection {
 public:
  virtual ~Connection() = default;
  virtual void drop() = 0;
  Stage stage = Stage::reading;
  bool is_late = false;  // it was being written when the server ended
};

// Only the thread of `io` uses it, but for the makers of routes.
struct Service {
  Rules rules;
  std::string content_policy;
  HttpLimits limits;
  std::list<Connection*> connections;  // the oldest first
  bool closing = false;
  asio::thread_pool pool{threads};
  std::map<std::string, Route> pages, actions;
  asio::io_context io{1};
  asio::steady_timer rest{io};
};

HttpAnswer made_by(const Route& route, const Caller& caller) {
  try {
    return route.make(caller);
  } catch (const std::exception& error) {
    return said(500, error.what());
  }
}

// 0: the client has gone, was too slow or was dropped; no answer is sent
int status_of(const ErrorCode& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  if (error == http::error::body_limit) return 413;
  if (error == http::error::end_of_stream || error == http::error::partial_message) return 0;
  return error.category() == make_error_code(http::error::bad_target).category() ? 400 : 0;
}

template <class Stream>
class Session final : public Connection, public std::enable_shared_from_this<Session<Stream>> {
 public:
  template <class... Context>
  Session(Service& service, tcp::socket socket, Context&... context)
      : service_(service), stream_(std::move(socket), context...), buffer_(2 * service.limits.head_bytes) {
    ErrorCode ignored;
    const tcp::endpoint peer = tcp_stream().socket().remote_endpoint(ignored);
    asked_.from_loopback = !ignored && is_loopback(peer.address().to_string());
    place_ = service_.connections.insert(service_.connections.end(), this);
  }
  ~Session() override { leave(); }

  void start() {
    tcp_stream().expires_after(service_.limits.request);
    if constexpr (encrypts) {
      stream_.async_handshake(asio::ssl::stream_base::server,
                              [self = this->shared_from_this()](ErrorCode error) {
                                if (!error) self->read();
                              });
    } else {
      read();
    }
  }
  void drop() override {
    leave();
    tcp_stream().close();
  }

 private:
  static constexpr bool encrypts = !std::is_same_v<Stream, beast::tcp_stream>;

  beast::tcp_stream& tcp_stream() { return beast::get_lowest_layer(stream_); }

  void leave() {
    if (!place_) return;
    service_.connections.erase(*place_);
    place_.reset();
    if (service_.closing && service_.connections.empty()) service_.rest.cancel();
  }

  void read() {
    parser_.header_limit(service_.limits.head_bytes);
    parser_.body_limit(service_.limits.body_bytes);
    http::async_read(
        stream_, buffer_, parser_,
        [self = this->shared_from_this()](ErrorCode error, std::size_t) { self->on_read(error); });
  }

  void on_read(const ErrorCode& error) {
    if (service_.closing) return;
    if (const int status = error ? status_of(error) : 200; status != 200) {
      if (status != 0) write(said(status, "refused: " + error.message()));
      return;
    }
    const auto& request = parser_.get();
    if (std::distance(request.begin(), request.end()) > static_cast<std::ptrdiff_t>(service_.limits.headers))
      return write(said(431, fmt::format("refused: more than {} headers", service_.limits.headers)));
    if (request.count(http::field::host) > 1) return write(said(400, "refused: two headers Host"));
    const auto text = [&](auto field) { return std::string(request[field]); };
    asked_.acts = request.method() == http::verb::post;
    asked_.host = text(http::field::host);
    asked_.origin = text(http::field::origin);
    asked_.authorization = text(http::field::authorization);
    asked_.is_passed_on = std::any_of(std::begin(words_of_proxies), std::end(words_of_proxies),
                                      [&](const char* field) { return request.count(field) > 0; });
    if (auto refused = refusal(asked_, service_.rules)) return write(std::move(*refused));
    find_route();
  }

  void find_route() {
    const auto& request = parser_.get();
    const bool looks = request.method() == http::verb::get || request.method() == http::verb::head;
    const std::string target(request.target());
    auto& routes = asked_.acts ? service_.actions : service_.pages;
    const auto found = routes.find(target.substr(0, target.find('?')));
    if ((!looks && !asked_.acts) || found == routes.end())
      return write(said(404, "there is nothing of that name"));
    Route& route = found->second;
    if (route.waiting >= service_.limits.waiting)
      return write(said(503, "too many ask for this at once; try again"));
    make(route);
  }

  void make(Route& route) {
    stage = Stage::making;
    tcp_stream().expires_never();
    ++route.waiting;
    const Caller caller{.may_act = may_act(asked_, service_.rules)};
    asio::post(route.turns, [self = this->shared_from_this(), &route, caller]() mutable {
      HttpAnswer made = made_by(route, caller);
      asio::io_context& io = self->service_.io;
      // The last owner of a connection has to be of that thread.
      asio::post(io, [self = std::move(self), &route, made = std::move(made)]() mutable {
        --route.waiting;
        self->write(std::move(made));
      });
    });
  }

  void write(HttpAnswer made) {
    stage = Stage::writing;
    answer_.result(static_cast<unsigned>(made.status));
    answer_.version(http_1_1);
    answer_.keep_alive(false);
    answer_.set(http::field::content_type, made.type);
    answer_.set(http::field::content_length, std::to_string(made.body.size()));
    answer_.set(http::field::cache_control, "no-store");
    answer_.set("Content-Security-Policy", service_.content_policy);
    answer_.set("X-Frame-Options", "DENY");
    answer_.set("X-Content-Type-Options", "nosniff");
    answer_.set("Cross-Origin-Resource-Policy", "same-origin");
    // Without any referrer a browser would not say whose button was pressed.
    answer_.set("Referrer-Policy", "same-origin");
    if (parser_.get().method() != http::verb::head) answer_.body() = std::move(made.body);
    tcp_stream().expires_after(service_.limits.answer);
    http::async_write(stream_, answer_, [self = this->shared_from_this()](ErrorCode error, std::size_t) {
      if (!error) self->say_goodbye();
    });
  }

  void say_goodbye() {
    if constexpr (encrypts) {
      stream_.async_shutdown([self = this->shared_from_this()](ErrorCode) {});
    } else {
      ErrorCode ignored;
      tcp_stream().socket().shutdown(tcp::socket::shutdown_send, ignored);
    }
  }

  Service& service_;
  Stream stream_;
  beast::flat_buffer buffer_;
  http::request_parser<http::string_body> parser_;
  http::response<http::string_body> answer_;
  Asked asked_;
  std::optional<std::list<Connection*>::iterator> place_;
};

// False: there is no room, as all of them are being answered.
bool make_room(const Service& service) {
  if (service.connections.size() < service.limits.connections) return true;
  for (const Stage stage : {Stage::reading, Stage::writing}) {
    const auto found = std::find_if(service.connections.begin(), service.connections.end(),
                                    [&](const Connection* connection) { return connection->stage == stage; });
    if (found == service.connections.end()) continue;
    (*found)->drop();
    return true;
  }
  return false;
}

}  // namespace

struct HttpServer::Impl : Service {
  Impl(const HttpServerOptions& options, Routes pages_of, Routes actions_of) {
    rules = {.own_host = options.address.host, .token = options.token};
    content_policy = options.content_policy;
    limits = options.limits;
    take(pages, std::move(pages_of));
    take(actions, std::move(actions_of));
    if (options.tls != nullptr) {
      SSL_CTX_up_ref(options.tls);
      tls.emplace(options.tls);
    }
  }

  void take(std::map<std::string, Route>& into, Routes&& routes) {
    for (auto& [path, make] : routes)
      into.emplace(path, Route{.make = std::move(make), .turns = asio::make_strand(pool.get_executor())});
  }

  void listen(const HttpServerOptions& options) {
    try {
      const std::string host = address_to_bind(options.address.host);
      const tcp::endpoint endpoint(asio::ip::make_address(host), options.address.port);
      acceptor.open(endpoint.protocol());
      acceptor.set_option(tcp::acceptor::reuse_address(true));
      acceptor.bind(endpoint);
      acceptor.listen();
    } catch (const std::exception& error) {
      throw Error(
          ErrorKind::environment,
          fmt::format("{}: cannot listen on {}: the address is not of this host, or the port is taken ({}); "
                      "give another one, or port 0 for a free one",
                      options.key, host_port_text(options.address.host, options.address.port), error.what()));
    }
  }

  void accept() {
    acceptor.async_accept([this](ErrorCode error, tcp::socket socket) {
      if (closing) return;
      if (error) {
        rest.expires_after(rest_of_accept);
        rest.async_wait([this](ErrorCode) {
          if (!closing) accept();
        });
        return;
      }
      if (make_room(*this)) admit(std::move(socket));
      accept();
    });
  }

  void admit(tcp::socket socket) {
    if (tls) {
      std::make_shared<Session<beast::ssl_stream<beast::tcp_stream>>>(*this, std::move(socket), *tls)
          ->start();
    } else {
      std::make_shared<Session<beast::tcp_stream>>(*this, std::move(socket))->start();
    }
  }

  // Whatever a request brings about, the job goes on.
  void run() {
    for (;;) {
      try {
        io.run();
        return;
      } catch (const std::exception& error) {
        log::warn("a request to the run's page failed: {}", error.what());
      }
    }
  }

  void close() {
    closing = true;
    ErrorCode ignored;
    acceptor.close(ignored);
    rest.cancel();
    for (Connection* const connection : std::list<Connection*>(connections)) {
      if (connection->stage == Stage::reading) connection->drop();
    }
    end_writing();
  }

  void end_writing() {
    if (connections.empty()) return;
    rest.expires_after(last_answer);
    rest.async_wait([this](ErrorCode) {
      for (Connection* const connection : std::list<Connection*>(connections)) {
        if (connection->stage != Stage::writing) continue;
        if (std::exchange(connection->is_late, true)) connection->drop();
      }
      end_writing();
    });
  }

  std::optional<asio::ssl::context> tls;
  tcp::acceptor acceptor{io};
  asio::executor_work_guard<asio::io_context::executor_type> guard{io.get_executor()};
  std::thread thread;
};

HttpServer::HttpServer(const HttpServerOptions& options, Routes pages, Routes actions)
    : impl_(std::make_unique<Impl>(options, std::move(pages), std::move(actions))) {
  impl_->listen(options);
  impl_->accept();
  impl_->thread = std::thread([impl = impl_.get()] { impl->run(); });
}

HttpServer::~HttpServer() {
  std::promise<void> closed;
  asio::post(impl_->io, [&] {
    impl_->close();
    closed.set_value();
  });
  closed.get_future().wait();
  impl_->pool.join();  // nothing new is given to it
  impl_->guard.reset();
  impl_->thread.join();
}

std::uint16_t HttpServer::port() const {
  return impl_->acceptor.local_endpoint().port();
}

}  // namespace d9d::live
