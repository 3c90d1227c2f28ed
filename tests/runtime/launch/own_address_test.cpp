// What a node binds and what it tells others. The names are numeric: nothing is asked of the resolver.
#include "runtime/launch/own_address.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr const char* no_route = "";
constexpr const char* own_route = "10.0.0.2";

AddressOptions open(std::optional<HostPort> listen, std::optional<HostMaybePort> advertise = {}) {
  return {.listen = std::move(listen), .advertise = std::move(advertise), .insecure = true};
}

TEST(OwnAddress, OfAJoiningNodeIsTheOneOnItsRouteToNode0) {
  EXPECT_EQ(host_to_bind(open({}), own_route), "10.0.0.2");
  EXPECT_EQ(port_to_bind(open({})), 0);
  EXPECT_EQ(announced(open({}), 4711, own_route), (HostPort{"10.0.0.2", 4711}));
}

TEST(OwnAddress, OfAJoiningNodeIsTheOneItIsTold) {
  const AddressOptions options = open(HostPort{"192.168.0.2", 7});

  EXPECT_EQ(host_to_bind(options, own_route), "192.168.0.2");
  EXPECT_EQ(port_to_bind(options), 7);
  EXPECT_EQ(announced(options, 7, own_route), (HostPort{"192.168.0.2", 7}));
}

TEST(OwnAddress, OfANodeThatListensEverywhereIsARealOne) {
  for (const char* everywhere : {"0.0.0.0", "::"}) {
    const AddressOptions options = open(HostPort{everywhere, 0});

    EXPECT_EQ(host_to_bind(options, own_route), everywhere);
    EXPECT_EQ(announced(options, 4711, own_route), (HostPort{"10.0.0.2", 4711}));
  }
}

TEST(OwnAddress, OfNode0IsLeftToThoseWhoHaveReachedIt) {
  EXPECT_EQ(announced(open(HostPort{"0.0.0.0", 29500}), 29500, no_route), (HostPort{"", 29500}));
  EXPECT_EQ(announced(open(HostPort{"10.0.0.1", 29500}), 29500, no_route), (HostPort{"", 29500}));
}

TEST(OwnAddress, IsWhatTheUserAdvertises) {
  const HostPort listen{"10.0.0.1", 29500};

  EXPECT_EQ(announced(open(listen, HostMaybePort{"gate", {}}), 29500, no_route), (HostPort{"gate", 29500}));
  EXPECT_EQ(announced(open(listen, HostMaybePort{"gate", 80}), 29500, no_route), (HostPort{"gate", 80}));
  EXPECT_EQ(announced(open({}, HostMaybePort{"gate", 80}), 4711, own_route), (HostPort{"gate", 80}));
  EXPECT_EQ(host_to_bind(open({}, HostMaybePort{"gate", 80}), own_route), "10.0.0.2");
}

TEST(OwnAddress, BeyondThisHostNeedsProtectionOrAnExplicitWord) {
  AddressOptions options;

  EXPECT_THROW(host_to_bind(options, "10.0.0.2"), Error);
  EXPECT_EQ(host_to_bind(options, "127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(host_to_bind(options, "::1"), "::1");
  options.tls = true;
  EXPECT_EQ(host_to_bind(options, "10.0.0.2"), "10.0.0.2");
  EXPECT_FALSE(is_unprotected(options, "10.0.0.2"));
  options = {.insecure = true};
  EXPECT_EQ(host_to_bind(options, "10.0.0.2"), "10.0.0.2");
  EXPECT_TRUE(is_unprotected(options, "10.0.0.2"));
  EXPECT_FALSE(is_unprotected(options, "127.0.0.1"));
}

}  // namespace
}  // namespace d9d
