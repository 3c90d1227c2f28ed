#include "runtime/comm/store.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <cerrno>
#include <cstring>

#include "runtime/base/error.hpp"
#include "runtime/comm/store_handle.hpp"

namespace d9d {
namespace {

using std::chrono::milliseconds;

// c10d's texts carry a stack trace after the first line.
std::string first_line(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

[[noreturn]] void fail_environment(const std::string& text) {
  throw Error(ErrorKind::environment, text);
}

struct Resolved {
  explicit Resolved(const std::string& address) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    const int code = getaddrinfo(address.c_str(), nullptr, &hints, &list);
    if (code != 0)
      fail_environment(fmt::format("store: address {} is unknown: {}", address, gai_strerror(code)));
  }
  ~Resolved() { freeaddrinfo(list); }
  addrinfo* list = nullptr;
};

void set_port(sockaddr* address, std::uint16_t port) {
  if (address->sa_family == AF_INET) reinterpret_cast<sockaddr_in*>(address)->sin_port = htons(port);
  if (address->sa_family == AF_INET6) reinterpret_cast<sockaddr_in6*>(address)->sin6_port = htons(port);
}

std::uint16_t port_of(int socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size);
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<sockaddr_in&>(bound).sin_port);
}

// Left to itself the store would listen on every interface.
int listen_on(const std::string& address, std::uint16_t port) {
  const Resolved resolved(address);
  set_port(resolved.list->ai_addr, port);
  const int fd = socket(resolved.list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (fd < 0 || bind(fd, resolved.list->ai_addr, resolved.list->ai_addrlen) != 0 || listen(fd, 1024) != 0) {
    const int error = errno;
    if (fd >= 0) close(fd);
    fail_environment(fmt::format("store: cannot listen on {}:{}: {}; choose another port or address", address,
                                 port, std::strerror(error)));
  }
  return fd;
}

c10::intrusive_ptr<c10d::Store> connect_to(const std::string& address, std::uint16_t port,
                                           milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = port;
  options.waitWorkers = false;
  options.timeout = timeout;
  return c10::make_intrusive<c10d::TCPStore>(address, options);
}

}  // namespace

std::unique_ptr<Store> Store::host(const std::string& address, std::uint16_t port) {
  const int socket = listen_on(address, port);
  const std::uint16_t bound = port_of(socket);
  c10d::TCPStoreOptions options;
  options.port = bound;
  options.isServer = true;
  options.waitWorkers = false;
  options.masterListenFd = socket;
  try {
    auto handle = std::make_unique<comm::StoreHandle>();
    handle->store = c10::make_intrusive<c10d::TCPStore>(address, options);
    return std::unique_ptr<Store>(new Store(std::move(handle), address, bound));
  } catch (const std::exception& error) {
    fail_environment(fmt::format("store: cannot serve on {}:{}: {}", address, bound, first_line(error)));
  }
}

std::unique_ptr<Store> Store::join(const std::string& address, std::uint16_t port, milliseconds timeout) {
  try {
    auto handle = std::make_unique<comm::StoreHandle>();
    handle->store = connect_to(address, port, timeout);
    return std::unique_ptr<Store>(new Store(std::move(handle), address, port));
  } catch (const std::exception& error) {
    fail_environment(fmt::format(
        "store: nobody answers at {}:{} within {} ms; is node 0 up, and the port reachable from here? ({})",
        address, port, timeout.count(), first_line(error)));
  }
}

Store::Store(std::unique_ptr<comm::StoreHandle> handle, std::string address, std::uint16_t port)
    : handle_(std::move(handle)), address_(std::move(address)), port_(port) {}
Store::~Store() = default;

void Store::set(const std::string& key, const std::string& value) {
  handle_->store->set(key, value);
}

std::string Store::get(const std::string& key, milliseconds timeout) {
  const auto connection = connect();
  try {
    connection->store->wait({key}, timeout);
    return connection->store->get_to_str(key);
  } catch (const std::exception& error) {
    fail_environment(
        fmt::format("store: no \"{}\" within {} ms: {}", key, timeout.count(), first_line(error)));
  }
}

bool Store::contains(const std::string& key) {
  return handle_->store->check({key});
}

std::int64_t Store::add(const std::string& key, std::int64_t amount) {
  return handle_->store->add(key, amount);
}

std::unique_ptr<comm::StoreHandle> Store::connect() {
  auto handle = std::make_unique<comm::StoreHandle>();
  handle->store = handle_->store->clone();
  return handle;
}

}  // namespace d9d
