#pragma once
// The first frames on a connection, by side:
//   dials    hello        the purpose of the connection, and a nonce
//   accepts  challenge    another nonce; or at once an answer that is not yes
//   dials    proof        that it knows the secret (proof.hpp)
//   accepts  answer       yes, no, later; after a yes this side's proof
// All frames are small and bounded, so that a stranger cannot make a node read or store much.

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
  joining = 3,  // messages of a process that wants to become a member
};

struct Hello {
  Purpose purpose = Purpose::actors;
  SecretKind secret = SecretKind::none;  // that it will prove; only for texts of errors
  Nonce nonce{};
  // For Purpose::tensors: start of the job, group, number of earlier openings, indices of the two members.
  std::string job;
  std::string group;
  std::uint32_t opened = 0;
  std::int32_t from = 0;
  std::int32_t to = 0;
};

enum class Verdict : std::uint8_t {
  yes = 1,
  no = 2,
  later = 3,     // not ready yet for this purpose: dial again
  stranger = 4,  // the proof is wrong: another secret, or bytes captured from another connection
};

struct Answer {
  Verdict verdict = Verdict::yes;
  std::string reason{};  // of `no` and `stranger`
};

// A frame is a head of hello_head_bytes, which contains the length of the body, and the body.
inline constexpr std::size_t hello_head_bytes = 12;
inline constexpr std::size_t hello_body_bytes_max = 16384;

std::string frame_of(const Hello& hello);
std::string frame_of(const Answer& answer);
std::string challenge_frame(const Nonce& nonce);
std::string proof_frame(const Proof& proof);
// Return the length of the body, or none if `head` (hello_head_bytes) is not the head of such a frame.
std::optional<std::size_t> hello_body_bytes(const std::byte* head);
std::optional<std::size_t> answer_body_bytes(const std::byte* head);
bool is_challenge(const std::byte* head);
bool is_proof(const std::byte* head);
// Whether this is the head of a hello of another version of d9d, which can still read an Answer.
bool is_hello_of_another_version(const std::byte* head);
std::optional<Hello> hello_from(const std::vector<std::byte>& body);
std::optional<Answer> answer_from(const std::vector<std::byte>& body);
// The length of the body of a challenge and of a proof.
inline constexpr std::size_t proof_body_bytes = 32;
std::array<char, proof_body_bytes> bytes_from(const std::vector<std::byte>& body);

}  // namespace d9d::net
