// Jobs over several hosts, each with its own addresses: the way a job is started outside a single machine. Hosts are
// network namespaces; the last tests need none and use several addresses of loopback.
#include <gmock/gmock.h>

#include <memory>

#include "tests/support/process/network_namespaces.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const Words insecure_node = set("node.insecure", "true");

class AddressesOfLoopback : public testing::Test {
 protected:
  // Of a job of `nodes` processes with a rank each.
  static Words words_of(int nodes, const Words& words) {
    return mesh(1, nodes) + set("trainer.batching.global_batch_size", "24") + Words{"--ranks", "1"} + words;
  }
  void expect_trained(const std::vector<std::unique_ptr<Process>>& nodes) {
    for (const auto& node : nodes) EXPECT_EQ(node->wait(), 0) << node->err();
    EXPECT_EQ(job_.losses("tiny").size(), 20);
  }

  TinyJob job_;
  std::vector<std::unique_ptr<Process>> nodes_;
};

class Hosts : public AddressesOfLoopback {
 protected:
  void SetUp() override {
    if (!NetworkNamespaces::possible()) GTEST_SKIP() << "network namespaces need root";
  }

  // Node i on host i.
  void start(const NetworkNamespaces& hosts, int total, const Words& words) {
    nodes_.push_back(
        job_.start_within(hosts.on(static_cast<int>(nodes_.size())), words_of(total, insecure_node + words)));
  }
  // One node a host with these addresses, node 0 first; only node 0's address is given to anybody.
  void expect_job_over(const std::vector<std::string>& addresses) {
    SCOPED_TRACE(testing::PrintToString(addresses));
    const int total = static_cast<int>(addresses.size());
    const bool ipv6 = addresses[0].find(':') != std::string::npos;
    NetworkNamespaces hosts(total);
    std::map<int, std::string> network;
    for (int host = 0; host < total; ++host) network[host] = addresses[host] + (ipv6 ? "/64" : "/24");
    hosts.connect(network);
    const std::string first = (ipv6 ? "[" + addresses[0] + "]" : addresses[0]) + ":29500";
    const std::string run = "over" + std::to_string(run_++);

    nodes_.clear();
    start(hosts, total, named(run) + Words{"--listen", first});
    for (int node = 1; node < total; ++node) start(hosts, total, named(run) + Words{"--join", first});

    for (const auto& node : nodes_) EXPECT_EQ(node->wait(), 0) << node->err();
    EXPECT_EQ(job_.losses(run).size(), 20);
  }

 private:
  int run_ = 0;
};

TEST_F(Hosts, HaveSeveralProcessesOfOneCommandEach) {
  NetworkNamespaces hosts(2);
  hosts.connect({{0, "10.77.0.1/24"}, {1, "10.77.0.2/24"}});
  const Words words = mesh(1, 4) + insecure_node + set("node.processes", "2");
  const Words half = words + Words{"--ranks", "2"};
  const auto variables = [](const char* index) {
    return Environment{
        {"NODE_RANK", index}, {"NNODES", "2"}, {"MASTER_ADDR", "10.77.0.1"}, {"MASTER_PORT", "29500"}};
  };

  nodes_.push_back(job_.start_within(hosts.on(0), half + Words{"--listen", "10.77.0.1:29500"}));
  nodes_.push_back(job_.start_within(hosts.on(1), half + Words{"--join", "10.77.0.1:29500"}));
  expect_trained(nodes_);
  nodes_.clear();
  for (const int host : {1, 0}) {
    nodes_.push_back(
        job_.start_within(hosts.on(host), words + named("variables"), variables(host == 0 ? "0" : "1")));
  }

  for (const auto& node : nodes_) EXPECT_EQ(node->wait(), 0) << node->err();
  EXPECT_THAT(nodes_[0]->err(), HasSubstr("worker 1 of 2 (rank 3; process "));
  EXPECT_EQ(job_.exact_curve("variables"), job_.exact_curve("tiny"));
}

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

  EXPECT_THAT(addresses_of(0), AllOf(HasSubstr("10.77.0.1"), Not(HasSubstr("fd77"))));
  EXPECT_THAT(addresses_of(1), AllOf(HasSubstr("10.77.0.2"), HasSubstr("fd77")));
  EXPECT_EQ(ask.wait(), 0);
  EXPECT_THAT(ask.out(), HasSubstr("10.77.0.2"));
}

TEST_F(Hosts, TwoTrainTogetherWhicheverHasTheLowerAddress) {
  expect_job_over({"10.0.0.1", "10.0.0.2"});
  expect_job_over({"192.168.7.2", "192.168.7.1"});
}

TEST_F(Hosts, TwoTrainTogetherOverIpv6) {
  expect_job_over({"fd00::1", "fd00::2"});
  expect_job_over({"fd00::2", "fd00::1"});
}

TEST_F(Hosts, ThreeTrainTogether) {
  expect_job_over({"10.0.0.2", "10.0.0.1", "10.0.0.3"});
}

TEST_F(Hosts, FourTrainTogetherWithNode0LastByAddress) {
  expect_job_over({"192.168.0.9", "192.168.0.3", "192.168.0.1", "192.168.0.2"});
}

TEST_F(Hosts, ThreeTrainTogetherOverIpv6) {
  expect_job_over({"fd00::9", "fd00::3", "fd00::1"});
}

// Each host's first interface leads to nobody, as one of a container bridge or of management would.
TEST_F(Hosts, ListeningEverywhereAnnounceTheInterfaceThatLeadsToTheOthers) {
  NetworkNamespaces hosts(3);
  for (int host = 0; host < 3; ++host) hosts.connect({{host, "10.99.0." + std::to_string(host + 1) + "/24"}});
  hosts.connect({{0, "10.1.0.9/24"}, {1, "10.1.0.1/24"}, {2, "10.1.0.2/24"}});
  hosts.connect({{0, "fd01::9/64"}, {1, "fd01::1/64"}, {2, "fd01::2/64"}});
  const auto expect_trained_over = [&](const std::string& run, const std::string& listen,
                                       const std::string& join, const std::string& own) {
    SCOPED_TRACE(listen);
    nodes_.clear();
    start(hosts, 3, named(run) + Words{"--listen", listen + ":29500"});
    start(hosts, 3, named(run) + Words{"--join", join + ":29500"});
    start(hosts, 3, named(run) + Words{"--join", join + ":29500", "--listen", own + ":29501"});
    for (const auto& node : nodes_) EXPECT_EQ(node->wait(), 0) << node->err();
    EXPECT_EQ(job_.losses(run).size(), 20);
  };

  expect_trained_over("v4", "0.0.0.0", "10.1.0.9", "0.0.0.0");
  expect_trained_over("v6", "[::]", "[fd01::9]", "[::]");
}

// Nodes 0 and 2 live behind a gate that passes two of its ports on; node 1 lives outside and sees only the gate.
TEST_F(Hosts, BehindAGateAreReachedAsTheyAdvertise) {
  constexpr int gate = 3;
  NetworkNamespaces hosts(4);
  hosts.connect({{0, "10.6.0.1/24"}, {2, "10.6.0.2/24"}, {gate, "10.6.0.254/24"}});
  hosts.connect({{1, "192.0.2.1/24"}, {gate, "192.0.2.254/24"}});
  for (const int inside : {0, 2}) hosts.ip(inside, "route add default via 10.6.0.254");
  hosts.shell(gate, "sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'");
  job_.folder().write("gate.nft",
                      "table ip gate {\n"
                      "  chain in { type nat hook prerouting priority dstnat;\n"
                      "    ip daddr 192.0.2.254 tcp dport 80 dnat to 10.6.0.1:29500;\n"
                      "    ip daddr 192.0.2.254 tcp dport 82 dnat to 10.6.0.2:29502; }\n"
                      "  chain out { type nat hook postrouting priority srcnat; oifname net1 masquerade; }\n"
                      "}\n");
  hosts.shell(gate, "nft -f " + (job_.folder() / "gate.nft").string());

  start(hosts, 3, {"--listen", "10.6.0.1:29500"});
  start(hosts, 3, {"--join", "192.0.2.254:80"});
  start(hosts, 3,
        Words{"--join", "10.6.0.1:29500", "--listen", "10.6.0.2:29502"} +
            set("node.advertise", "192.0.2.254:82"));

  expect_trained(nodes_);
}

TEST_F(Hosts, NamesMayComeUpLate) {
  NetworkNamespaces hosts(2);
  hosts.connect({{0, "10.2.0.2/24"}, {1, "10.2.0.1/24"}});
  const std::string name = "job-0.workers";
  start(hosts, 2, {"--listen", name + ":29500"});
  start(hosts, 2, {"--join", name + ":29500"});
  for (const auto& node : nodes_) node->wait_for_error_text("the name job-0.workers is not known here");

  // Node 0's own idea of its name is that of Debian: 127.0.1.1, where nobody else could reach it.
  hosts.add_names(0, "127.0.1.1 " + name + "\n");
  hosts.add_names(1, "10.2.0.2 " + name + "\n");

  expect_trained(nodes_);
}

TEST_F(Hosts, TheFirstNodeMayBeTheLastToStart) {
  NetworkNamespaces hosts(2);
  hosts.connect({{0, "10.3.0.2/24"}, {1, "10.3.0.1/24"}});
  auto second =
      job_.start_within(hosts.on(1), words_of(2, insecure_node + Words{"--join", "10.3.0.2:29500"}));
  second->wait_for_error_text("cannot reach node 0 at 10.3.0.2:29500 yet: Connection refused");

  start(hosts, 2, {"--listen", "10.3.0.2:29500"});
  nodes_.push_back(std::move(second));

  expect_trained(nodes_);
}

TEST_F(Hosts, OpenNothingBeyondThemselvesUnlessToldSo) {
  NetworkNamespaces hosts(2);
  hosts.connect({{0, "10.4.0.1/24"}, {1, "10.4.0.2/24"}});
  hosts.add_names(1, "10.4.0.1 boss\n");
  start(hosts, 2, {"--listen", "10.4.0.1:29500"});
  nodes_[0]->wait_for_error_text("node.insecure: nothing protects the connections at 10.4.0.1:29500");

  for (const char* boss : {"10.4.0.1:29500", "boss:29500"}) {
    const auto refused = job_.start_within(hosts.on(1), words_of(2, {"--join", boss}));
    EXPECT_EQ(refused->wait(), 2);
    EXPECT_THAT(refused->err(), AllOf(HasSubstr("node.tls"), HasSubstr("node.insecure: true")));
  }
  start(hosts, 2, {"--join", "boss:29500"});

  expect_trained(nodes_);
  EXPECT_THAT(nodes_[1]->err(), HasSubstr("node.insecure: nothing protects the connections at 10.4.0.2:"));
}

TEST_F(Hosts, SayWhomTheyCannotReachAndWhy) {
  NetworkNamespaces hosts(2);
  hosts.connect({{0, "10.5.0.1/24"}, {1, "10.5.0.2/24"}});
  const auto expect_given_up = [&](const std::string& address, const std::string& reason) {
    const auto lost = job_.start_within(
        hosts.on(1), words_of(2, insecure_node + set("node.join_timeout", "2") + Words{"--join", address}));
    EXPECT_EQ(lost->wait(), 1);
    EXPECT_THAT(lost->err(), AllOf(HasSubstr("cannot reach node 0 at " + address), HasSubstr(reason),
                                   HasSubstr("after 2 s (node.join_timeout)")));
  };

  expect_given_up("10.5.0.1:29500", "Connection refused");
  expect_given_up("172.16.0.1:29500", "Network is unreachable");
  expect_given_up("nobody.invalid:29500", "the name nobody.invalid is not known here");
}

TEST_F(AddressesOfLoopback, ServeAsHostsOfTheirOwn) {
  nodes_.push_back(job_.start(words_of(3, {"--listen", "127.0.0.9:0"})));
  const std::string first = "127.0.0.9:" + port_of(*nodes_[0], "127.0.0.9");
  nodes_.push_back(job_.start(words_of(3, {"--join", first, "--listen", "127.0.0.3:0"})));
  nodes_.push_back(job_.start(words_of(3, {"--join", first, "--listen", "127.0.0.5:0"})));

  expect_trained(nodes_);
  EXPECT_THAT(nodes_[0]->err(), Not(HasSubstr("nothing protects"))) << "loopback is no network";
}

TEST_F(AddressesOfLoopback, OfIpv6AreWrittenInBrackets) {
  nodes_.push_back(job_.start(words_of(2, {"--listen", "[::1]:0"})));
  nodes_.push_back(job_.start(words_of(2, {"--join", "[::1]:" + port_of(*nodes_[0], "[::1]")})));

  expect_trained(nodes_);
}

TEST_F(AddressesOfLoopback, ThatCannotBeDialledAreRefusedBeforeTheStart) {
  for (const auto& [address, reason] : std::vector<std::pair<std::string, std::string>>{
           {"127.0.0.1:0", "port 0 is for listening"},
           {"0.0.0.0:29500", "every address of this host"},
           {"[::]:29500", "every address of this host"},
           {"::1:29500", "in brackets"},
           {"127.0.0.1", "it has to be HOST:PORT"},
           {"127.0.0.1:295000", "a port is a number from 0 to 65535"}}) {
    EXPECT_THAT(job_.run(words_of(2, {"--join", address})),
                is_refused(AllOf(HasSubstr("--join"), HasSubstr(address), HasSubstr(reason))))
        << address;
  }
}

}  // namespace
}  // namespace d9d::test
