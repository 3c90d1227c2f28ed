// What an all-reduce between two processes costs over loopback: one double, 4 KB, 32 MB; plain and under TLS. Beside
// it the floor of the machine at the same moment: 8 bytes there and back over a plain TCP socket.
//   bench_comm [--repeats N]       prints one JSON object; medians in microseconds
#include <ATen/Parallel.h>
#include <ATen/ops/ones.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/processes/socket_transport.hpp"
#include "tests/bench/tcp_floor.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds patience{60};

struct Size {
  const char* name;
  std::int64_t floats;
  int rounds;
};
constexpr Size measured_sizes[] = {{"scalar", 2, 4000}, {"4 KB", 1024, 4000}, {"32 MB", 8 << 20, 30}};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double all_reduce_us(Communicator& group, const Size& size) {
  at::Tensor tensor = at::ones({size.floats});
  std::vector<double> took;
  for (int round = 0; round < size.rounds; ++round) {
    const auto begin = steady_clock::now();
    group.all_reduce(tensor, ReduceOp::max).wait();
    took.push_back(std::chrono::duration<double, std::micro>(steady_clock::now() - begin).count());
  }
  return median(std::move(took));
}

// Rank 1 dials, so only rank 0's port is needed.
std::unique_ptr<SocketTransport> transport(net::Gate& gate, int rank, std::uint16_t port) {
  SocketTransportOptions options{
      .node = rank, .nodes = {{"127.0.0.1", port}, {"127.0.0.1", 0}}, .node_of = {}, .job = "bench"};
  options.node_of = [](int of) { return of; };
  return std::make_unique<SocketTransport>(gate, std::move(options));
}

void run_rank(net::Gate& gate, int rank, std::uint16_t port, int repeats, nlohmann::json* report) {
  const auto links = transport(gate, rank, port);
  const auto group = links->open({"pair", {0, 1}, rank, false}, patience);
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (const Size& size : measured_sizes) {
      const double us = all_reduce_us(*group, size);
      if (report != nullptr) (*report)[size.name].push_back(us);
    }
  }
}

// No threads of OpenMP, which do not outlive a fork.
nlohmann::json two_processes(const net::TlsFiles* files, int repeats) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("pipe");
  const pid_t other = fork();
  const auto tls = files != nullptr ? std::make_shared<const net::Tls>(*files) : nullptr;
  net::Gate gate(tls);
  std::uint16_t port = 0;
  if (other == 0) {
    if (read(ends[0], &port, sizeof(port)) != sizeof(port)) _exit(1);
    run_rank(gate, 1, port, repeats, nullptr);
    _exit(0);
  }
  port = gate.listen("127.0.0.1", 0);
  if (write(ends[1], &port, sizeof(port)) != sizeof(port)) throw std::runtime_error("write");
  nlohmann::json report;
  run_rank(gate, 0, port, repeats, &report);
  waitpid(other, nullptr, 0);
  return report;
}

}  // namespace
}  // namespace d9d

int main(int argc, char** argv) {
  using namespace d9d;
  at::set_num_threads(1);
  const int repeats = argc > 2 && std::string(argv[1]) == "--repeats" ? std::atoi(argv[2]) : 5;
  const test::TemporaryFolder folder;
  const net::TlsFiles files = test::Authority(folder.path(), "bench").issue("node");
  nlohmann::json report;
  report["sockets"] = two_processes(nullptr, repeats);
  report["tls"] = two_processes(&files, repeats);
  report["tcp floor"] = median(tcp_floor_us(4000, 8));
  std::cout << report.dump(2) << "\n";
}
