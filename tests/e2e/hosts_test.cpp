// Jobs over several hosts, each with its own addresses: the way a job is started outside a single machine.
#include <gmock/gmock.h>

#include "tests/support/network_namespaces.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

class Hosts : public testing::Test {
 protected:
  void SetUp() override {
    if (!NetworkNamespaces::possible()) GTEST_SKIP() << "network namespaces need root";
  }

  TinyJob job_;
};

TEST_F(Hosts, OfATestSeeTheirOwnNetworkOnly) {
  NetworkNamespaces hosts(2);
  hosts.connect({{0, "10.77.0.1/24"}, {1, "10.77.0.2/24"}});
  hosts.connect({{1, "fd77::2/64"}});
  hosts.add_names(0, "10.77.0.2 neighbour\n");

  const auto addresses_of = [&](int host) {
    Process process(
        {.words = hosts.on(host) + Words{"/usr/bin/env", "cat", "/proc/net/fib_trie", "/proc/net/if_inet6"},
         .folder = job_.folder().path(),
         .name = "addresses"});
    EXPECT_EQ(process.wait(), 0) << process.err();
    return process.out();
  };
  Process ask({.words = hosts.on(0) + Words{"/usr/bin/env", "getent", "hosts", "neighbour"},
               .folder = job_.folder().path()});

  EXPECT_THAT(addresses_of(0),
              testing::AllOf(testing::HasSubstr("10.77.0.1"), testing::Not(testing::HasSubstr("fd77"))));
  EXPECT_THAT(addresses_of(1), testing::AllOf(testing::HasSubstr("10.77.0.2"), testing::HasSubstr("fd77")));
  EXPECT_EQ(ask.wait(), 0);
  EXPECT_THAT(ask.out(), testing::HasSubstr("10.77.0.2"));
}

}  // namespace
}  // namespace d9d::test
