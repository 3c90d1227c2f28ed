#pragma once
// Proves to each of two processes that the other one knows the same secret, without sending it. Both
// draw a nonce. Each sends an HMAC-SHA256 over the two nonces, the purpose of the connection, and its
// own side. So no proof is valid a second time, on another connection, or in the other direction. No
// OpenSSL in this header.

#include <array>
#include <cstdint>
#include <string>

#include "runtime/net/channel.hpp"

namespace d9d::net {

using Nonce = std::array<char, 32>;
using Key = std::array<char, 32>;
using Proof = std::array<char, 32>;

enum class SecretKind : std::uint8_t {
  none = 1,     // no secret: a proof shows only that the bytes are not a replay
  token = 2,    // given by the user
  command = 3,  // random, made by the command that starts all processes of the job
};

struct Secret {
  SecretKind kind = SecretKind::none;
  std::string text{};
};

// Derives the key of a secret. Takes milliseconds for a token: a person may have chosen it, and
// guessing must be slow.
Key key_of(const Secret& secret);
// Derives the key of processes that know `membership` besides the job's secret.
Key member_key_of(const Key& job, const std::string& membership);
// Returns random bytes. Environment error if the system has none to give.
Nonce fresh_nonce();
// Returns as many random bits as text, for a secret that is stored.
std::string random_text();

// The bytes that both sides have sent before a proof.
struct Said {
  std::string hello;    // the whole frame of the side that dials, with its nonce
  Nonce challenge{};    // of the side that accepts
  std::string binding;  // Channel::binding()
};
Proof proof_of(const Key& key, Side side, const Said& said);
// Compares in constant time, so that a stranger cannot guess a proof byte by byte.
bool same(const Proof& a, const Proof& b);

}  // namespace d9d::net
