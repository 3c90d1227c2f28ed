#include "tests/support/capture.hpp"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string_view>

namespace d9d::test {

std::unique_ptr<Capture> Capture::start(std::uint16_t port, std::vector<std::string> texts) {
  const int socket = ::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_IP));
  if (socket < 0) return nullptr;
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_IP);
  address.sll_ifindex = static_cast<int>(if_nametoindex("lo"));
  const int large = 64 << 20;
  setsockopt(socket, SOL_SOCKET, SO_RCVBUFFORCE, &large, sizeof(large));
  if (bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    close(socket);
    return nullptr;
  }
  return std::unique_ptr<Capture>(new Capture(socket, port, std::move(texts)));
}

Capture::Capture(int socket, std::uint16_t port, std::vector<std::string> texts)
    : socket_(socket), port_(port), texts_(std::move(texts)), thread_([this] { run(); }) {}

Capture::~Capture() {
  stop_ = true;
  thread_.join();
  close(socket_);
}

void Capture::run() {
  std::vector<unsigned char> packet(1 << 17);
  while (!stop_) {
    pollfd ready{socket_, POLLIN, 0};
    if (poll(&ready, 1, 50) <= 0) continue;
    const ssize_t size = recv(socket_, packet.data(), packet.size(), MSG_DONTWAIT);
    if (size > 0) look_at(packet.data(), static_cast<std::size_t>(size));
  }
}

void Capture::look_at(const unsigned char* packet, std::size_t size) {
  if (size < sizeof(iphdr)) return;
  const auto* ip = reinterpret_cast<const iphdr*>(packet);
  const std::size_t ip_bytes = ip->ihl * std::size_t{4};
  if (ip->protocol != IPPROTO_TCP || size < ip_bytes + sizeof(tcphdr)) return;
  const auto* tcp = reinterpret_cast<const tcphdr*>(packet + ip_bytes);
  if (ntohs(tcp->source) != port_ && ntohs(tcp->dest) != port_) return;
  const std::size_t head = ip_bytes + tcp->doff * std::size_t{4};
  if (size <= head) return;
  const std::string_view payload(reinterpret_cast<const char*>(packet) + head, size - head);
  bytes_ += payload.size();
  const std::lock_guard lock(mutex_);
  for (const std::string& text : texts_) {
    if (payload.find(text) != std::string_view::npos) ++seen_[text];
  }
}

std::vector<std::string> Capture::seen() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> texts;
  for (const auto& [text, count] : seen_) texts.push_back(text);
  return texts;
}

}  // namespace d9d::test
