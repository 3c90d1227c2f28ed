#include "runtime/live/http_post.hpp"

#include <gmock/gmock.h>

#include "runtime/live/http_server.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::live {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(HttpPost, AsksForAnActionAndHandsBackWhatIsSaid) {
  const auto sleep = [](const Caller&) { return said(202, "it falls asleep"); };
  const HttpServer server({.address = {"127.0.0.1", 0}, .key = "here", .token = "open sesame"}, {},
                          {{"/sleep", sleep}});
  const HostPort there{"127.0.0.1", server.port()};

  EXPECT_EQ(post(there, "/sleep", "key").status, 202);
  EXPECT_EQ(post(there, "/sleep", "key", "open sesame").body, "it falls asleep\n");
  EXPECT_EQ(post({"localhost", server.port()}, "/sleep", "key").status, 202);
  EXPECT_EQ(post(there, "/other", "key").status, 404);
}

TEST(HttpPost, WhereNobodyListensSaysSo) {
  std::uint16_t port = 0;
  {
    const HttpServer server({.address = {"127.0.0.1", 0}, .key = "here"}, {});
    port = server.port();
  }
  EXPECT_THAT(test::error_of(
                  [&] {
                    post({"127.0.0.1", port}, "/sleep", "node.status");
                  },
                  ErrorKind::environment),
              AllOf(HasSubstr("node.status: nobody answers at http://127.0.0.1:"), HasSubstr("/sleep")));
}

}  // namespace
}  // namespace d9d::live
