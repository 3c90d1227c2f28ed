#pragma once
// Hosts of a test: network namespaces, each with its own addresses, hosts file and loopback, on networks that
// only they see. Needs root; the names are unique to this process, and the destructor removes them (what a
// killed process left is removed by the next one).
//   NetworkNamespaces hosts(2);
//   hosts.connect({{0, "10.0.0.1/24"}, {1, "10.0.0.2/24"}});
//   job.start_within(hosts.on(1), {"--join", "10.0.0.1:29500"});

#include <map>
#include <string>
#include <vector>

namespace d9d::test {

class NetworkNamespaces {
 public:
  // Only root can make them. Root for whom it fails gets an exception from the constructor, not a skipped test.
  static bool possible();

  explicit NetworkNamespaces(int hosts);
  ~NetworkNamespaces();
  NetworkNamespaces(const NetworkNamespaces&) = delete;
  NetworkNamespaces& operator=(const NetworkNamespaces&) = delete;

  // One more network: an interface for each of these hosts (net0, net1, ... in the order of the calls), with
  // the given address and prefix length, IPv4 or IPv6.
  void connect(const std::map<int, std::string>& address_of_host);
  // `ip WORDS` inside a host, for example "route add default via 10.0.0.1".
  void ip(int host, const std::string& words) const;
  // A shell command inside a host.
  void shell(int host, const std::string& command) const;
  // Adds lines to the host's own /etc/hosts, at once visible to what runs there. Without them a host knows
  // localhost only: there is no DNS.
  void add_names(int host, const std::string& lines) const;

  // The words before a program that runs it on that host.
  std::vector<std::string> on(int host) const;

 private:
  void make_host(const std::string& name);
  std::string hub() const { return prefix_ + "hub"; }

  const std::string prefix_;  // of the names of this object's namespaces
  std::vector<std::string> names_;
  int networks_ = 0;
};

}  // namespace d9d::test
