#include "runtime/live/http_post.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>

#include "runtime/base/error.hpp"

namespace d9d::live {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

constexpr std::chrono::seconds patience{5};
constexpr std::uint64_t answer_bytes_max = 65536;
constexpr unsigned http_1_1 = 11;

// One step after the other; `error` is that of the step that failed.
struct Exchange {
  asio::io_context io{1};
  tcp::resolver resolver{io};
  beast::tcp_stream stream{io};
  beast::flat_buffer buffer;
  http::request<http::empty_body> request;
  http::response_parser<http::string_body> answer;
  beast::error_code error;

  void run(const HostPort& address) {
    answer.body_limit(answer_bytes_max);
    stream.expires_after(patience);
    resolver.async_resolve(
        address.host, std::to_string(address.port), [this](beast::error_code e, const auto& found) {
          if (!failed(e))
            stream.async_connect(
                found, [this](beast::error_code of_connect, const auto&) { connected(of_connect); });
        });
    io.run();
  }
  bool failed(beast::error_code e) {
    error = e;
    return static_cast<bool>(e);
  }
  void connected(beast::error_code e) {
    if (failed(e)) return;
    http::async_write(stream, request, [this](beast::error_code of_write, std::size_t) {
      if (failed(of_write)) return;
      http::async_read(stream, buffer, answer,
                       [this](beast::error_code of_read, std::size_t) { failed(of_read); });
    });
  }
};

}  // namespace

HttpAnswer post(const HostPort& address, const std::string& path, const std::string& key,
                const std::string& token) {
  const std::string host = host_port_text(address.host, address.port);
  Exchange exchange;
  exchange.request = {http::verb::post, path, http_1_1};
  exchange.request.set(http::field::host, host);
  if (!token.empty()) exchange.request.set(http::field::authorization, "Bearer " + token);
  exchange.request.prepare_payload();
  exchange.run(address);
  if (exchange.error) {
    throw Error(ErrorKind::environment, fmt::format("{}: nobody answers at http://{}{} ({})", key, host, path,
                                                    exchange.error.message()));
  }
  const auto& answer = exchange.answer.get();
  return {.status = static_cast<int>(answer.result_int()),
          .type = std::string(answer[http::field::content_type]),
          .body = answer.body()};
}

}  // namespace d9d::live
