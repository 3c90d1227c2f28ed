#include "runtime/live/http_server.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <deque>
#include <filesystem>
#include <future>
#include <stdexcept>
#include <thread>

#include "runtime/base/host_limits.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/http_client.hpp"

namespace d9d::live {
namespace {

using test::http;
using test::http_get;
using test::http_post;
using test::HttpConnection;
using testing::AllOf;
using testing::HasSubstr;

const HttpServerOptions anywhere{.address = {"127.0.0.1", 0}, .key = "here"};

// Whose time never ends a connection while a test runs.
HttpServerOptions patient(HttpLimits limits = {}) {
  HttpServerOptions options = anywhere;
  options.limits = limits;
  options.limits.request = options.limits.answer = std::chrono::hours(1);
  return options;
}

auto says(const std::string& text) {
  return [text](const Caller&) { return HttpAnswer{200, "text/plain", text}; };
}

TEST(HttpServer, AnswersItsRoutesAndNoOthers) {
  const HttpServer server(anywhere, {{"/",
                                      [](const Caller&) {
                                        return HttpAnswer{200, "text/html", "<p/>"};
                                      }},
                                     {"/busy", [](const Caller&) {
                                        return HttpAnswer{503, "text/plain", "later"};
                                      }}});

  const auto page = http_get(server.port(), "/");
  const auto busy = http_get(server.port(), "/busy?now=1");

  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.body, "<p/>");
  EXPECT_EQ(page.headers.at("content-type"), "text/html");
  EXPECT_EQ(page.headers.at("cache-control"), "no-store");
  EXPECT_EQ(busy.status, 503);
  EXPECT_EQ(http_get(server.port(), "/other").status, 404);
  EXPECT_EQ(http_post(server.port(), "/").status, 404);
  EXPECT_EQ(http("DELETE", server.port(), "/").status, 404);
}

TEST(HttpServer, TellsALookerAtTheHeadHowLongTheBodyWouldBe) {
  const HttpServer server(anywhere, {{"/", says("twelve bytes")}});

  const auto head = http("HEAD", server.port(), "/");

  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-length"), "12");
  EXPECT_EQ(head.body, "");
}

TEST(HttpServer, TellsWhatARouteThrows) {
  const HttpServer server(
      anywhere, {{"/", [](const Caller&) -> HttpAnswer { throw std::runtime_error("no such run"); }}});

  const auto answer = http_get(server.port(), "/");

  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.body, "no such run\n");
}

TEST(HttpServer, RefusesWhatAPageFromElsewhereAsks) {
  std::atomic<int> asked = 0;
  const auto count = [&asked](const Caller&) {
    ++asked;
    return HttpAnswer{202, "text/plain", "done"};
  };
  const HttpServer server(anywhere, {{"/", says("page")}}, {{"/sleep", count}});
  const std::string here = "http://127.0.0.1:" + std::to_string(server.port());

  EXPECT_EQ(http_post(server.port(), "/sleep", "Origin: http://elsewhere.example\r\n").status, 403);
  EXPECT_EQ(http_post(server.port(), "/sleep", "Host: evil.example:80\r\nOrigin: http://evil.example:80\r\n")
                .status,
            421);
  EXPECT_EQ(http_get(server.port(), "/", "Host: evil.example:80\r\n").status, 421);
  EXPECT_EQ(http_get(server.port(), "/", "Host: 127.0.0.1\r\nHost: evil.example\r\n").status, 400);
  EXPECT_EQ(http_post(server.port(), "/sleep", "X-Forwarded-For: 10.0.0.9\r\n").status, 403);
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(http_post(server.port(), "/sleep", "Origin: " + here + "\r\n").status, 202);
  EXPECT_EQ(http_post(server.port(), "/sleep").status, 202);
}

TEST(HttpServer, TellsARouteWhetherWhoAsksMayAct) {
  const auto route = [](const Caller& caller) {
    return HttpAnswer{200, "text/plain", caller.may_act ? "may act" : "may look"};
  };
  HttpServerOptions options = anywhere;
  options.token = "open sesame";
  const HttpServer server(options, {{"/", route}});

  EXPECT_EQ(http_get(server.port(), "/").body, "may act");
  EXPECT_EQ(http_get(server.port(), "/", "Via: 1.1 proxy\r\n").body, "may look");
  EXPECT_EQ(http_get(server.port(), "/", "Via: 1.1 proxy\r\nAuthorization: Bearer open sesame\r\n").body,
            "may act");
}

TEST(HttpServer, LetsNobodyFrameOrGuessWhatItSends) {
  HttpServerOptions options = anywhere;
  options.content_policy = "default-src 'none'; frame-ancestors 'none'";
  const HttpServer server(options, {{"/", says("page")}});

  for (const char* path : {"/", "/other"}) {
    const auto answer = http_get(server.port(), path);
    EXPECT_EQ(answer.headers.at("content-security-policy"), "default-src 'none'; frame-ancestors 'none'");
    EXPECT_EQ(answer.headers.at("x-frame-options"), "DENY");
    EXPECT_EQ(answer.headers.at("x-content-type-options"), "nosniff");
    EXPECT_EQ(answer.headers.at("cross-origin-resource-policy"), "same-origin");
  }
}

TEST(HttpServer, BoundsHeadersInNumberAndBytesAndKeepsNothingOfThem) {
  const HttpServer server(patient(), {{"/", says("page")}});
  std::string many = "Host: localhost\r\n";
  for (int i = 0; i < 200; ++i) many += fmt::format("H{}: x\r\n", i);
  const std::string line = "H: " + std::string(7000, 'x') + "\r\n";
  const std::size_t before = process_bytes();

  EXPECT_EQ(http_get(server.port(), "/", many).status, 431);
  EXPECT_EQ(http_get(server.port(), "/" + std::string(100'000, 'x')).status, 431);
  for (int i = 0; i < 20; ++i) {
    const HttpConnection endless(server.port());
    endless.send("GET / HTTP/1.1\r\n");
    int lines = 0;
    while (lines < 100'000 && endless.send(line)) ++lines;  // as long as somebody takes them
    EXPECT_LT(lines, 10'000) << "what the sockets of both sides hold, and not 700 MB";
    EXPECT_EQ(test::reply_of(endless.rest()).status, 431);
  }

  EXPECT_LT(process_bytes(), before + (32 << 20));
  EXPECT_EQ(http_get(server.port(), "/").status, 200);
}

TEST(HttpServer, TakesNoLongBodyAndNoNonsense) {
  const HttpServer server(patient(), {}, {{"/sleep", says("done")}});

  EXPECT_EQ(http_post(server.port(), "/sleep", "Content-Length: 100000000\r\n").status, 413);
  EXPECT_EQ(http_post(server.port(), "/sleep", "Host: localhost\r\nContent-Length: 4\r\n\r\nbody").status,
            200);
  EXPECT_EQ(http("\x16\x03\x01", server.port(), "/").status, 400);
  EXPECT_EQ(http_post(server.port(), "/sleep", "no header\r\n").status, 400);
}

TEST(HttpServer, AnswersBesideManyWhoNeverEndTheirRequest) {
  const HttpServer server(patient(), {{"/metrics", says("d9d_step 1")}});
  std::deque<HttpConnection> slow;
  for (int i = 0; i < 40; ++i) {
    slow.emplace_back(server.port());
    ASSERT_TRUE(slow.back().send("GET /metrics HTTP/1.1\r\nHost: loc"));
  }

  EXPECT_EQ(http_get(server.port(), "/metrics").body, "d9d_step 1");
  EXPECT_TRUE(slow.front().send("alhost\r\n\r\n"));
  EXPECT_EQ(test::reply_of(slow.front().rest()).status, 200) << "who was slow is answered, too";
}

TEST(HttpServer, GivesThePlaceOfTheOldestToSomebodyNew) {
  const HttpServer server(patient({.connections = 4}), {{"/", says("page")}});
  std::deque<HttpConnection> slow;
  for (int i = 0; i < 12; ++i) {
    slow.emplace_back(server.port());
    slow.back().send("GET / HTTP/1.1\r\n");
    EXPECT_EQ(http_get(server.port(), "/").status, 200) << i;
  }

  EXPECT_EQ(slow.front().rest(), "") << "closed";
}

TEST(HttpServer, ClosesWhoTakesTooLong) {
  HttpServerOptions options = anywhere;
  options.limits.request = std::chrono::milliseconds(20);
  const HttpServer server(options, {{"/", says("page")}});
  const HttpConnection slow(server.port());
  slow.send("GET / HTT");

  EXPECT_EQ(slow.rest(), "");
}

std::ptrdiff_t descriptors() {
  using Entries = std::filesystem::directory_iterator;
  return std::distance(Entries("/proc/self/fd"), Entries());
}

// Its text is longer than what the sockets hold.
TEST(HttpServer, ClosesWhoDoesNotTakeItsAnswer) {
  std::promise<void> made;
  HttpServerOptions options = anywhere;
  options.limits.answer = std::chrono::milliseconds(20);
  const HttpServer server(options, {{"/", [&](const Caller&) {
                                       made.set_value();
                                       return HttpAnswer{200, "text/plain", std::string(64 << 20, 'x')};
                                     }}});
  const std::ptrdiff_t before = descriptors();
  const HttpConnection slow(server.port());
  slow.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");

  made.get_future().wait();
  while (descriptors() > before + 1) std::this_thread::yield();  // until the server has closed its end

  EXPECT_LT(slow.rest().size(), std::size_t{64} << 20);
}

TEST(HttpServer, OnePathWithManyWhoWaitLeavesTheOthersAlone) {
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  std::promise<void> begun;
  std::atomic<bool> has_begun = false;
  const auto page = [&](const Caller&) {
    if (!has_begun.exchange(true)) begun.set_value();
    gone.wait();
    return HttpAnswer{200, "text/html", "page"};
  };
  const HttpServer server(patient({.waiting = 3}), {{"/", page}, {"/metrics", says("numbers")}});
  std::deque<HttpConnection> viewers;
  const auto view = [&] {
    viewers.emplace_back(server.port());
    viewers.back().send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  };
  view();
  begun.get_future().wait();
  for (int i = 1; i < 5; ++i) view();

  EXPECT_EQ(http_get(server.port(), "/metrics").body, "numbers");
  EXPECT_EQ(test::reply_of(viewers[4].rest()).status, 503);
  go.set_value();
  EXPECT_EQ(test::reply_of(viewers[0].rest()).status, 200);
  EXPECT_EQ(test::reply_of(viewers[2].rest()).status, 200);
}

TEST(HttpServer, ATakenPortIsRefusedByName) {
  const HttpServer first(anywhere, {});

  const std::string error = test::error_of(
      [&] {
        const HttpServer second({.address = {"127.0.0.1", first.port()}, .key = "node.status"}, {});
      },
      ErrorKind::environment);

  EXPECT_THAT(error,
              AllOf(HasSubstr("node.status"), HasSubstr(std::to_string(first.port())), HasSubstr("port 0")));
}

TEST(HttpServer, ThePortIsFreeOnceItIsGone) {
  std::uint16_t port = 0;
  {
    const HttpServer server(anywhere, {});
    port = server.port();
  }
  const HttpServer again({.address = {"127.0.0.1", port}, .key = "here"}, {{"/", says("x")}});
  EXPECT_EQ(http_get(again.port(), "/").body, "x");
}

TEST(HttpServer, WaitsForARequestThatIsUnderWayAndForNoSlowOne) {
  std::promise<void> begun, go;
  std::future<test::HttpReply> client;
  std::future<void> helper;
  std::optional<HttpConnection> slow;
  {
    const HttpServer server(patient(), {{"/", [&](const Caller&) {
                                           begun.set_value();
                                           go.get_future().wait();
                                           return HttpAnswer{200, "text/plain", "late"};
                                         }}});
    slow.emplace(server.port());
    slow->send("GET / HT");
    client = std::async(std::launch::async, [port = server.port()] { return http_get(port, "/"); });
    begun.get_future().wait();
    helper = std::async(std::launch::async, [&] { go.set_value(); });
  }
  EXPECT_EQ(client.get().body, "late");
  EXPECT_EQ(slow->rest(), "");
}

}  // namespace
}  // namespace d9d::live
