#include "runtime/live/http_server.hpp"

#include <gmock/gmock.h>
#include <httplib.h>

#include <atomic>
#include <future>
#include <stdexcept>

#include "tests/support/error_of.hpp"

namespace d9d::live {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const HostPort anywhere{"127.0.0.1", 0};

httplib::Result get(const HttpServer& server, const std::string& path) {
  httplib::Client client("127.0.0.1", server.port());
  return client.Get(path);
}

TEST(HttpServer, AnswersItsRoutesAndNoOthers) {
  const HttpServer server(anywhere, "here",
                          {{"/",
                            [] {
                              return HttpAnswer{200, "text/html", "<p/>"};
                            }},
                           {"/busy", [] {
                              return HttpAnswer{503, "text/plain", "later"};
                            }}});

  const auto page = get(server, "/");
  const auto busy = get(server, "/busy");
  const auto other = get(server, "/other");

  ASSERT_TRUE(page && busy && other);
  EXPECT_EQ(page->status, 200);
  EXPECT_EQ(page->body, "<p/>");
  EXPECT_EQ(page->get_header_value("Content-Type"), "text/html");
  EXPECT_EQ(page->get_header_value("Cache-Control"), "no-store");
  EXPECT_EQ(busy->status, 503);
  EXPECT_EQ(other->status, 404);
}

TEST(HttpServer, TellsWhatARouteThrows) {
  const HttpServer server(anywhere, "here",
                          {{"/", []() -> HttpAnswer { throw std::runtime_error("no such run"); }}});

  const auto answer = get(server, "/");

  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 500);
  EXPECT_EQ(answer->body, "no such run\n");
}

TEST(HttpServer, RefusesWhatAPageFromElsewhereAsks) {
  std::atomic<int> asked = 0;
  const auto count = [&asked] {
    ++asked;
    return HttpAnswer{202, "text/plain", "done"};
  };
  const HttpServer server(anywhere, "here", {}, {{"/sleep", count}});
  httplib::Client client("127.0.0.1", server.port());
  const std::string here = "http://127.0.0.1:" + std::to_string(server.port());

  const auto foreign = client.Post("/sleep", httplib::Headers{{"Origin", "http://elsewhere.example"}});
  EXPECT_EQ(foreign->status, 403);
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(client.Post("/sleep", httplib::Headers{{"Origin", here}})->status, 202);
  EXPECT_EQ(client.Post("/sleep")->status, 202);
}

TEST(HttpServer, ATakenPortIsRefusedByName) {
  const HttpServer first(anywhere, "here", {});

  const std::string error = test::error_of(
      [&] {
        const HttpServer second({"127.0.0.1", first.port()}, "node.status", {});
      },
      ErrorKind::environment);

  EXPECT_THAT(error,
              AllOf(HasSubstr("node.status"), HasSubstr(std::to_string(first.port())), HasSubstr("port 0")));
}

TEST(HttpServer, ThePortIsFreeOnceItIsGone) {
  std::uint16_t port = 0;
  {
    const HttpServer server(anywhere, "here", {});
    port = server.port();
  }
  const HttpServer again({"127.0.0.1", port}, "here", {{"/", [] {
                                                          return HttpAnswer{200, "text/plain", "x"};
                                                        }}});
  ASSERT_TRUE(get(again, "/"));
}

TEST(HttpServer, WaitsForARequestThatIsUnderWay) {
  std::promise<void> begun, go;
  std::atomic<bool> answered{false};
  const auto late = [&] {
    begun.set_value();
    go.get_future().wait();
    answered = true;
    return HttpAnswer{200, "text/plain", "late"};
  };
  std::future<httplib::Result> client;
  std::future<void> helper;
  {
    const HttpServer server(anywhere, "here", {{"/", late}});
    client = std::async(std::launch::async,
                        [port = server.port()] { return httplib::Client("127.0.0.1", port).Get("/"); });
    begun.get_future().wait();
    helper = std::async(std::launch::async, [&] { go.set_value(); });
  }
  EXPECT_TRUE(answered);
}

}  // namespace
}  // namespace d9d::live
