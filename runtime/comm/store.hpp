#pragma once
// The key-value store in which the ranks of all processes find each other before they have a communicator.
// Node 0 hosts it; everybody else joins. No torch in this header.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace d9d {

namespace comm {
struct StoreHandle;
}

class Store {
 public:
  // Listens on `address` only ("127.0.0.1", or the address the other nodes reach). Port 0 takes a free one,
  // see port(). Environment error when the port is taken or the address is not one of this host.
  static std::unique_ptr<Store> host(const std::string& address, std::uint16_t port);
  // Environment error when nobody answers there within the timeout.
  static std::unique_ptr<Store> join(const std::string& address, std::uint16_t port,
                                     std::chrono::milliseconds timeout);
  ~Store();

  const std::string& address() const { return address_; }
  std::uint16_t port() const { return port_; }

  // Thread-safe.
  void set(const std::string& key, const std::string& value);
  // Waits until the key is there; environment error after the timeout.
  std::string get(const std::string& key, std::chrono::milliseconds timeout);
  bool contains(const std::string& key);
  // Adds to a counter that starts at 0 and returns the sum.
  std::int64_t add(const std::string& key, std::int64_t amount);

  // A connection of its own, so that one rank's wait does not hold up another's.
  std::unique_ptr<comm::StoreHandle> connect();

 private:
  Store(std::unique_ptr<comm::StoreHandle> handle, std::string address, std::uint16_t port);

  std::unique_ptr<comm::StoreHandle> handle_;
  const std::string address_;
  const std::uint16_t port_;
};

}  // namespace d9d
