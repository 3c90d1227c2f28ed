#pragma once
// Listens on the loopback interface and looks for texts in what passes one TCP port, as a stranger on the wire would.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace d9d::test {

class Capture {
 public:
  // Null without the right to capture (CAP_NET_RAW).
  static std::unique_ptr<Capture> start(std::uint16_t port, std::vector<std::string> texts);
  ~Capture();

  std::uint64_t bytes() const { return bytes_.load(); }
  // Those of the texts that were seen.
  std::vector<std::string> seen() const;

 private:
  Capture(int socket, std::uint16_t port, std::vector<std::string> texts);
  void run();
  void look_at(const unsigned char* packet, std::size_t size);

  const int socket_;
  const std::uint16_t port_;
  const std::vector<std::string> texts_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::uint64_t> bytes_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, int> seen_;
  std::thread thread_;
};

}  // namespace d9d::test
