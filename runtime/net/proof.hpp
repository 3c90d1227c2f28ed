#pragma once
// How two processes show each other that they know the same secret, without saying it: both draw a nonce, and each
// answers with an HMAC-SHA256 over the two nonces, what the connection is for, and its own side of it. So no proof
// serves a second time, on another connection, or in the other direction. No OpenSSL in this header.

#include <array>
#include <cstdint>
#include <string>

#include "runtime/net/channel.hpp"

namespace d9d::net {

using Nonce = std::array<char, 32>;
using Key = std::array<char, 32>;
using Proof = std::array<char, 32>;

enum class SecretKind : std::uint8_t {
  none = 1,     // everybody knows it: all that a proof shows is that nothing is said for the second time
  token = 2,    // the user's
  command = 3,  // random, of the command that starts all processes of a job
};

struct Secret {
  SecretKind kind = SecretKind::none;
  std::string text{};
};

// Milliseconds of work for a token, which a person may have made up: trying many is to cost something.
Key key_of(const Secret& secret);
// Of those who know `membership` besides the job's secret.
Key member_key_of(const Key& job, const std::string& membership);
// Random. Environment error where the system gives no random bytes.
Nonce fresh_nonce();
// As many random bits, for a secret that is written down.
std::string random_text();

// What both sides have said before a proof.
struct Said {
  std::string hello;    // of the side that dials, whole, with its nonce
  Nonce challenge{};    // of the side that accepts
  std::string binding;  // Channel::binding()
};
Proof proof_of(const Key& key, Side side, const Said& said);
// In a time that does not depend on where they differ.
bool same(const Proof& a, const Proof& b);

}  // namespace d9d::net
