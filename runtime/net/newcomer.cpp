#include "runtime/net/newcomer.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace d9d::net {
namespace {

constexpr unsigned char tls_handshake_byte = 0x16;

const char* const not_our_protocol = "what it says is not d9d's protocol";

}  // namespace

Newcomer::Newcomer(Fd socket, const Tls* tls, const Secrets& secrets, Deadline deadline)
    : tls_(tls),
      secrets_(secrets),
      deadline_(deadline),
      socket_(std::move(socket)),
      fd_(socket_.get()),
      peer_(peer_of(fd_)) {}

Newcomer::State Newcomer::step() {
  if (!channel_) {
    const State state = begin();
    if (state != State::ready) return state;
  }
  if (!hands_shaken_) {
    const Io io = channel_->shake_hands();
    if (io == Io::failed) return fail(channel_->failure());
    if (io != Io::done) return io == Io::writes ? State::writes : State::reads;
    hands_shaken_ = true;
  }
  while (awaited_ != Awaited::nothing) {
    if (const State state = read_frame(); state != State::ready) return state;
    if (const State state = hear(); state != State::ready) return state;
  }
  return State::ready;
}

// Looks at the first bytes before the handshake, because a side with TLS and one without cannot
// read each other's errors.
Newcomer::State Newcomer::begin() {
  std::array<unsigned char, hello_head_bytes> first{};
  const ssize_t n = recv(fd_, first.data(), first.size(), MSG_PEEK | MSG_DONTWAIT);
  if (n < 0) return errno == EAGAIN || errno == EINTR ? State::reads : fail({});
  if (n == 0) return fail({});
  const bool speaks_tls = first[0] == tls_handshake_byte;
  if (tls_ != nullptr && !speaks_tls) {
    return refuse_plainly("it speaks no TLS: does its job file lack node.tls?",
                          "it takes connections under TLS only: give node.tls {ca, certificate, key}");
  }
  if (tls_ == nullptr && speaks_tls) {
    return refuse_plainly("it speaks TLS, and this job file has no node.tls", "it speaks no TLS");
  }
  channel_ = make_channel(std::move(socket_), tls_, Side::accepts);
  frame_.resize(hello_head_bytes);
  return State::ready;
}

Newcomer::State Newcomer::refuse_plainly(const std::string& why, const std::string& told) {
  const std::string frame = frame_of(Answer{Verdict::no, told});
  static_cast<void>(send(fd_, frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
  return fail(why);
}

// Returns `ready` when frame_ is complete or refusal_ is set.
Newcomer::State Newcomer::read_frame() {
  while (true) {
    std::size_t got = 0;
    const Io io = channel_->read(frame_.data() + got_, frame_.size() - got_, got);
    if (io == Io::failed) return fail(channel_->failure());
    if (io != Io::done) return io == Io::writes ? State::writes : State::reads;
    got_ += got;
    if (got_ < frame_.size()) continue;
    if (got_ > hello_head_bytes) return State::ready;
    const auto body = body_bytes();
    if (!body && awaited_ == Awaited::hello && is_hello_of_another_version(frame_.data()))
      return refuse({Verdict::no, "it runs another version of d9d. Install the same version on every host"});
    if (!body) return fail(not_our_protocol);
    frame_.resize(hello_head_bytes + *body);
  }
}

std::optional<std::size_t> Newcomer::body_bytes() const {
  if (awaited_ == Awaited::hello) return hello_body_bytes(frame_.data());
  return is_proof(frame_.data()) ? std::optional(proof_body_bytes) : std::nullopt;
}

Newcomer::State Newcomer::hear() {
  if (refusal_) return State::ready;
  const std::vector<std::byte> body(frame_.begin() + hello_head_bytes, frame_.end());
  if (awaited_ == Awaited::hello) return hear_hello(body);
  if (!same(bytes_from(body), proof_of(key_, Side::dials, said_)))
    return refuse({Verdict::stranger, secrets_.why_stranger(hello_)});
  awaited_ = Awaited::nothing;
  return State::ready;
}

Newcomer::State Newcomer::hear_hello(const std::vector<std::byte>& body) {
  const auto hello = hello_from(body);
  if (!hello) return fail(not_our_protocol);
  hello_ = *hello;
  const auto key = secrets_.key_for(hello_.purpose);
  if (!key) return refuse({Verdict::later});
  key_ = *key;
  said_ = {std::string(reinterpret_cast<const char*>(frame_.data()), frame_.size()), fresh_nonce(),
           channel_->binding()};
  if (!say(challenge_frame(said_.challenge))) return fail({});
  awaited_ = Awaited::proof;
  frame_.assign(hello_head_bytes, std::byte{0});
  got_ = 0;
  return State::ready;
}

Newcomer::State Newcomer::refuse(Answer answer) {
  refusal_ = std::move(answer);
  awaited_ = Awaited::nothing;
  return State::ready;
}

std::unique_ptr<Channel> Newcomer::answer(const Answer& answer) {
  const bool yes = answer.verdict == Verdict::yes;
  const bool told =
      say(frame_of(answer) + (yes ? proof_frame(proof_of(key_, Side::accepts, said_)) : std::string()));
  if (!yes) let_go();
  return told ? std::move(channel_) : nullptr;
}

// Sends a frame at once. The socket's buffer has room for it, because little was sent before.
bool Newcomer::say(const std::string& frame) {
  const iovec part{const_cast<char*>(frame.data()), frame.size()};
  std::size_t sent = 0;
  return channel_->write(&part, 1, sent) == Io::done && sent == frame.size();
}

Newcomer::State Newcomer::fail(std::string why) {
  why_ = std::move(why);
  let_go();
  return State::failed;
}

// Reads the rest before the close. Unread bytes would make the close a reset, and the other side might
// not get the reason.
void Newcomer::let_go() {
  std::array<std::byte, 4096> unread{};
  for (int i = 0; i < 8 && recv(fd_, unread.data(), unread.size(), MSG_DONTWAIT) > 0; ++i) {
  }
  shutdown(fd_, SHUT_WR);
}

}  // namespace d9d::net
