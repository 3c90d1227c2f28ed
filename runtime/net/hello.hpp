#pragma once
// The first words on a connection: the dialling side says what it is for, the other side answers.
// Both frames are small and bounded, so that a stranger cannot make a node wait for more.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace d9d::net {

enum class Purpose : std::uint8_t { actors = 1, tensors = 2 };

struct Hello {
  Purpose purpose = Purpose::actors;
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
  later = 3,  // not yet ready for such connections: dial again
};

struct Answer {
  Verdict verdict = Verdict::yes;
  std::string reason;  // of a no
};

// A frame is a head of hello_head_bytes, which says how long the body is, and the body.
inline constexpr std::size_t hello_head_bytes = 12;
inline constexpr std::size_t hello_body_bytes_max = 16384;

std::string frame_of(const Hello& hello);
std::string frame_of(const Answer& answer);
// None when these are not the first bytes of such a frame. `head` has hello_head_bytes.
std::optional<std::size_t> hello_body_bytes(const std::byte* head);
std::optional<std::size_t> answer_body_bytes(const std::byte* head);
std::optional<Hello> hello_from(const std::vector<std::byte>& body);
std::optional<Answer> answer_from(const std::vector<std::byte>& body);

}  // namespace d9d::net
