#pragma once
// The first words on a connection:
//   dials    hello        what the connection is for, and a nonce
//   accepts  challenge    another nonce; or the answer at once, where it is no whatever the proof
//   dials    proof        that it knows the secret (proof.hpp)
//   accepts  answer       yes, no, later; after a yes the other side's proof
// All frames are small and bounded, so that a stranger cannot make a node wait for more.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/net/proof.hpp"

namespace d9d::net {

enum class Purpose : std::uint8_t {
  actors = 1,   // messages between members of a job
  tensors = 2,  // between members, too
  joining = 3,  // messages of a process that wants to become one
};

struct Hello {
  Purpose purpose = Purpose::actors;
  SecretKind secret = SecretKind::none;  // that it will prove; a hint, for words
  Nonce nonce{};
  // Of tensors: which job start, which group of ranks, opened how often before, between which of its members.
  std::string job;
  std::string group;
  std::uint32_t opened = 0;
  std::int32_t from = 0;
  std::int32_t to = 0;
};

enum class Verdict : std::uint8_t {
  yes = 1,
  no = 2,
  later = 3,     // not yet ready for such connections: dial again
  stranger = 4,  // the proof is wrong: it knows another secret, or repeats what it has heard
};

struct Answer {
  Verdict verdict = Verdict::yes;
  std::string reason{};  // of a no, and of a stranger
};

// A frame is a head of hello_head_bytes, which says how long the body is, and the body.
inline constexpr std::size_t hello_head_bytes = 12;
inline constexpr std::size_t hello_body_bytes_max = 16384;

std::string frame_of(const Hello& hello);
std::string frame_of(const Answer& answer);
std::string challenge_frame(const Nonce& nonce);
std::string proof_frame(const Proof& proof);
// None when these are not the first bytes of such a frame. `head` has hello_head_bytes.
std::optional<std::size_t> hello_body_bytes(const std::byte* head);
std::optional<std::size_t> answer_body_bytes(const std::byte* head);
bool is_challenge(const std::byte* head);
bool is_proof(const std::byte* head);
// A hello of an earlier or later version. Its dialler can read an Answer.
bool is_hello_of_another_version(const std::byte* head);
std::optional<Hello> hello_from(const std::vector<std::byte>& body);
std::optional<Answer> answer_from(const std::vector<std::byte>& body);
// Of both, the body is 32 bytes.
inline constexpr std::size_t proof_body_bytes = 32;
std::array<char, proof_body_bytes> bytes_from(const std::vector<std::byte>& body);

}  // namespace d9d::net
