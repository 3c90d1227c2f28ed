#include "runtime/base/host/host_port.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal(const std::function<void()>& parse) {
  return test::error_of([&] { parse(); }, ErrorKind::input);
}

TEST(HostPort, IsReadInAllSpellings) {
  EXPECT_EQ(parse_host_port("10.0.0.1:29500", "x"), (HostPort{"10.0.0.1", 29500}));
  EXPECT_EQ(parse_host_port("host-1.job.svc:0", "x"), (HostPort{"host-1.job.svc", 0}));
  EXPECT_EQ(parse_host_port("[::1]:29500", "x"), (HostPort{"::1", 29500}));
  EXPECT_EQ(parse_host_port("[fd00::1]:65535", "x"), (HostPort{"fd00::1", 65535}));
}

TEST(HostPort, OfIpv6WithoutBracketsIsRefusedBecauseThePortIsNotClear) {
  for (const char* text : {"::1:29500", "fd00::1:2950", "::1"}) {
    EXPECT_THAT(refusal([&] { parse_host_port(text, "--join"); }),
                AllOf(HasSubstr("--join"), HasSubstr(text), HasSubstr("[fd00::1]:29500")));
  }
}

TEST(HostPort, SaysWhatIsWrongWithWhat) {
  for (const char* text :
       {"", "29500", "host", ":29500", "[::1]", "[]:1", "[::1:29500", "a b:1", "[fe80::1%eth0]:1"}) {
    EXPECT_THAT(refusal([&] { parse_host_port(text, "--listen"); }),
                HasSubstr("--listen is \"" + std::string(text)))
        << text;
  }
  EXPECT_THAT(
      refusal([] { parse_host_port("host:295000", "--listen"); }),
      AllOf(HasSubstr("the port of --listen (host:295000)"), HasSubstr("295000"), HasSubstr("65535")));
  EXPECT_THAT(refusal([] { parse_port("295000", "MASTER_PORT"); }), HasSubstr("MASTER_PORT is \"295000\""));
  EXPECT_THAT(refusal([] { parse_port("", "MASTER_PORT"); }), HasSubstr("MASTER_PORT"));
  EXPECT_THAT(refusal([] { parse_port("-1", "MASTER_PORT"); }), HasSubstr("MASTER_PORT"));
}

TEST(HostMaybePort, HasAPortOnlyWhereOneIsGiven) {
  const auto read = [](const std::string& text) {
    const HostMaybePort parts = parse_host_maybe_port(text, "x");
    return parts.host + (parts.port ? " " + std::to_string(*parts.port) : "");
  };

  EXPECT_EQ(read("10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(read("gate:80"), "gate 80");
  EXPECT_EQ(read("fd00::1"), "fd00::1");
  EXPECT_EQ(read("[fd00::1]"), "fd00::1");
  EXPECT_EQ(read("[fd00::1]:80"), "fd00::1 80");
  for (const char* text : {"", ":80", "[fd00::1]80", "gate:", "gate:x"}) {
    EXPECT_NE(refusal([&] { parse_host_maybe_port(text, "x"); }), "no error") << text;
  }
}

TEST(HostPort, IsWrittenAsItIsRead) {
  for (const char* text : {"10.0.0.1:29500", "host:1", "[fd00::1]:29500"}) {
    const HostPort parts = parse_host_port(text, "x");
    EXPECT_EQ(host_port_text(parts.host, parts.port), text);
  }
  EXPECT_EQ(host_port_text("[::1]", "29500"), "[::1]:29500");
}

}  // namespace
}  // namespace d9d
