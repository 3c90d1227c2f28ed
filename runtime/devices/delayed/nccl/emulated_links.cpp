#include "runtime/devices/delayed/nccl/emulated_links.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "runtime/base/error.hpp"

namespace d9d::nccl {
namespace {

using std::chrono::steady_clock;

constexpr int again_ms = 1;  // for members that have not come, and for a device that others wait for
constexpr int hello_patience_s = 5;
constexpr std::chrono::seconds delivery_patience{5};

struct Header {
  EmulatedFrame::Key key;
  CollectivePart part;
  std::uint64_t bytes = 0;
};

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  D9D_CHECK(path.size() < sizeof(address.sun_path), "{} is too long for a socket", path);
  std::copy(path.begin(), path.end(), address.sun_path);
  return address;
}

net::Fd listen_at(const std::string& path, int backlog) {
  net::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_un address = address_of(path);
  const auto* const at = reinterpret_cast<const sockaddr*>(&address);
  if (!socket || ::bind(socket.get(), at, sizeof(address)) != 0 || ::listen(socket.get(), backlog) != 0)
    throw Error(ErrorKind::environment, fmt::format("cannot listen at {}: {}", path, std::strerror(errno)));
  return socket;
}

}  // namespace

EmulatedLinks::EmulatedLinks(const std::string& name, int size, int rank, Calls calls)
    : name_(name),
      size_(size),
      rank_(rank),
      calls_(std::move(calls)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      listener_(rank + 1 < size ? listen_at(path_of(rank), size) : net::Fd()),
      thread_([this] { run(); }) {}

// Below /tmp, because hosts that a test makes of network namespaces share its files and no other names.
std::string EmulatedLinks::path_of(int rank) const {
  return fmt::format("/tmp/d9d-{}-{}", name_, rank);
}

EmulatedLinks::~EmulatedLinks() {
  close(/*delivered=*/false);
}

bool EmulatedLinks::whole() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(links_.size()) == size_ - 1;
}

void EmulatedLinks::send(EmulatedFrame frame) {
  const int peer = frame.key.peer;
  frame.key.peer = rank_;
  const Header header{frame.key, frame.part, frame.bytes.size()};
  std::string head(reinterpret_cast<const char*>(&header), sizeof(header));
  {
    const std::lock_guard lock(mutex_);
    Link& link = links_.at(peer);
    if (link.gone) return;
    link.queue.push_back(std::move(head));
    if (!frame.bytes.empty()) link.queue.push_back(std::move(frame.bytes));
  }
  wake();
}

void EmulatedLinks::wake() {
  eventfd_write(wake_.get(), 1);
}

void EmulatedLinks::close(bool delivered) {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = delivered ? Ending::delivered : Ending::now;
    ends_at_ = steady_clock::now() + delivery_patience;
  }
  wake();
  thread_.join();
  if (listener_) ::unlink(path_of(rank_).c_str());
  listener_.reset();
  const std::lock_guard lock(mutex_);
  for (auto& [peer, link] : links_) {
    link.gone = true;
    link.socket.reset();
  }
}

void EmulatedLinks::run() {
  bool somebody_waits = false;
  while (!ends()) {
    meet();
    wait(somebody_waits || !whole() || ending() ? again_ms : -1);
    somebody_waits = calls_.work();
  }
}

// Then it looks at the clock: a member that reads nothing wakes nobody.
bool EmulatedLinks::ending() const {
  const std::lock_guard lock(mutex_);
  return ending_ != Ending::none;
}

bool EmulatedLinks::ends() {
  const std::lock_guard lock(mutex_);
  if (ending_ != Ending::delivered) return ending_ == Ending::now;
  bool all = true;
  for (const auto& [peer, link] : links_) all = all && (link.gone || link.queue.empty());
  return all || steady_clock::now() > ends_at_;
}

// Of two members the one with the higher rank dials.
void EmulatedLinks::meet() {
  if (whole()) return;
  for (int peer = 0; peer < rank_; ++peer)
    if (!links_.contains(peer)) dial(peer);
  accept_one();
  if (!whole() || !listener_) return;
  ::unlink(path_of(rank_).c_str());
  listener_.reset();
}

void EmulatedLinks::dial(int peer) {
  net::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_of(path_of(peer));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return;
  if (::send(socket.get(), &rank_, sizeof(rank_), MSG_NOSIGNAL) == sizeof(rank_))
    add(peer, std::move(socket));
}

void EmulatedLinks::accept_one() {
  if (!listener_) return;
  net::Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket) return;
  const timeval patience{hello_patience_s, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  int peer = 0;
  const bool told = ::recv(socket.get(), &peer, sizeof(peer), MSG_WAITALL) == sizeof(peer);
  if (told && peer > rank_ && peer < size_) add(peer, std::move(socket));
}

void EmulatedLinks::add(int peer, net::Fd socket) {
  const std::lock_guard lock(mutex_);
  links_[peer].socket = std::move(socket);
}

// Until something came, somebody woke it, or the time is over.
void EmulatedLinks::wait(int patience_ms) {
  std::vector<pollfd> polled{{wake_.get(), POLLIN, 0}};
  std::vector<int> peers{rank_};
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [peer, link] : links_) {
      if (link.gone) continue;
      polled.push_back(
          {link.socket.get(), static_cast<short>(link.queue.empty() ? POLLIN : POLLIN | POLLOUT), 0});
      peers.push_back(peer);
    }
  }
  ::poll(polled.data(), polled.size(), patience_ms);
  eventfd_t count = 0;
  if (polled[0].revents != 0) eventfd_read(wake_.get(), &count);
  for (std::size_t i = 1; i < polled.size(); ++i) {
    if ((polled[i].revents & POLLOUT) != 0) write_to(links_.at(peers[i]));
    if ((polled[i].revents & ~POLLOUT) != 0) read_from(peers[i]);
  }
}

void EmulatedLinks::write_to(Link& link) {
  const std::lock_guard lock(mutex_);
  while (!link.queue.empty()) {
    const std::string& first = link.queue.front();
    const ssize_t sent = ::send(link.socket.get(), first.data() + link.written, first.size() - link.written,
                                MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) return;  // full; or it is gone, which reading tells
    link.written += static_cast<std::size_t>(sent);
    if (link.written < first.size()) return;
    link.queue.pop_front();
    link.written = 0;
  }
}

void EmulatedLinks::read_from(int peer) {
  Link& link = links_.at(peer);
  std::array<char, 64 << 10> some;
  while (true) {
    const ssize_t got = ::recv(link.socket.get(), some.data(), some.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (got <= 0) {
      cut_frames(peer);
      {
        const std::lock_guard lock(mutex_);
        link.gone = true;
      }
      return calls_.gone(peer);
    }
    link.read.append(some.data(), static_cast<std::size_t>(got));
  }
  cut_frames(peer);
}

void EmulatedLinks::cut_frames(int peer) {
  std::string& read = links_.at(peer).read;
  std::size_t begin = 0;
  Header header;
  while (read.size() - begin >= sizeof(header)) {
    std::memcpy(static_cast<void*>(&header), read.data() + begin, sizeof(header));
    const std::size_t end = begin + sizeof(header) + header.bytes;
    if (read.size() < end) break;
    header.key.peer = peer;
    calls_.came({header.key, header.part, read.substr(begin + sizeof(header), header.bytes)});
    begin = end;
  }
  read.erase(0, begin);
}

}  // namespace d9d::nccl
