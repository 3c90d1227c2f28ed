#include "tests/support/process/network_namespaces.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace d9d::test {
namespace {

const std::string namespace_mark = "d9dtest-";
const std::filesystem::path namespaces_folder = "/run/netns";
const std::filesystem::path files_folder = "/etc/netns";

std::string ip_program() {
  for (const char* path : {"/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip", "/bin/ip"}) {
    if (::access(path, X_OK) == 0) return path;
  }
  throw std::runtime_error("the program `ip` is missing; .ci/deps installs it (iproute2)");
}

// Throws with what the command printed.
void run(const std::string& command) {
  std::FILE* pipe = ::popen(("{ " + command + "; } 2>&1").c_str(), "re");
  if (pipe == nullptr) throw std::runtime_error("cannot run: " + command);
  std::string output;
  char piece[512];
  while (std::fgets(piece, sizeof piece, pipe) != nullptr) output += piece;
  const int status = ::pclose(pipe);
  if (status != 0) throw std::runtime_error(command + ": " + output);
}

void remove(const std::string& name) {
  try {
    run(ip_program() + " netns delete " + name);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  std::error_code ignored;
  std::filesystem::remove_all(files_folder / name, ignored);
}

// "d9dtest-PID-..." of a process that is gone.
void remove_leftovers() {
  std::error_code none;
  std::vector<std::string> stale;
  for (const auto& entry : std::filesystem::directory_iterator(namespaces_folder, none)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(namespace_mark)) continue;
    const int pid = std::atoi(name.c_str() + namespace_mark.size());
    if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) stale.push_back(name);
  }
  for (const std::string& name : stale) remove(name);
}

std::string next_prefix() {
  static std::atomic<int> made{0};
  return namespace_mark + std::to_string(::getpid()) + "-" + std::to_string(made++) + "-";
}

}  // namespace

bool NetworkNamespaces::possible() {
  return ::geteuid() == 0;
}

NetworkNamespaces::NetworkNamespaces(int hosts) : prefix_(next_prefix()) {
  remove_leftovers();
  try {
    make_host(hub());
    for (int host = 0; host < hosts; ++host) make_host(prefix_ + std::to_string(host));
  } catch (...) {
    for (const std::string& name : names_) remove(name);
    throw;
  }
}

NetworkNamespaces::~NetworkNamespaces() {
  for (const std::string& name : names_) remove(name);
}

void NetworkNamespaces::make_host(const std::string& name) {
  run(ip_program() + " netns add " + name);
  names_.push_back(name);
  run(ip_program() + " -n " + name + " link set lo up");
  // `ip netns exec` lays these over /etc. They must be there before: what is written later is seen then.
  std::filesystem::create_directories(files_folder / name);
  std::ofstream(files_folder / name / "hosts") << "127.0.0.1 localhost\n::1 localhost\n";
  std::ofstream(files_folder / name / "nsswitch.conf") << "passwd: files\ngroup: files\nhosts: files\n";
}

void NetworkNamespaces::connect(const std::map<int, std::string>& address_of_host) {
  const std::string number = std::to_string(networks_++);
  const std::string in_hub = ip_program() + " -n " + hub();
  run(in_hub + " link add bridge" + number + " type bridge && " + in_hub + " link set bridge" + number +
      " up");
  for (const auto& [host, address] : address_of_host) {
    const std::string port = "port" + number + "-" + std::to_string(host);
    const std::string name = names_.at(static_cast<std::size_t>(host) + 1);
    run(in_hub + " link add " + port + " type veth peer name net" + number + " netns " + name);
    run(in_hub + " link set " + port + " master bridge" + number + " up");
    // An IPv6 address is usable at once without the search for a duplicate.
    const bool ipv6 = address.find(':') != std::string::npos;
    ip(host, "address add " + address + " dev net" + number + (ipv6 ? " nodad" : ""));
    ip(host, "link set net" + number + " up");
  }
}

void NetworkNamespaces::ip(int host, const std::string& words) const {
  run(ip_program() + " -n " + names_.at(static_cast<std::size_t>(host) + 1) + " " + words);
}

void NetworkNamespaces::shell(int host, const std::string& command) const {
  run(ip_program() + " netns exec " + names_.at(static_cast<std::size_t>(host) + 1) + " " + command);
}

void NetworkNamespaces::add_names(int host, const std::string& lines) const {
  std::ofstream(files_folder / names_.at(static_cast<std::size_t>(host) + 1) / "hosts", std::ios::app)
      << lines;
}

std::vector<std::string> NetworkNamespaces::on(int host) const {
  return {ip_program(), "netns", "exec", names_.at(static_cast<std::size_t>(host) + 1)};
}

}  // namespace d9d::test
