#include "runtime/net/hello.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/base/error.hpp"

namespace d9d::net {
namespace {

// The last letter is the version.
constexpr char hello_magic[8] = {'d', '9', 'd', ' ', 'h', 'i', '\n', '2'};
constexpr char answer_magic[8] = {'d', '9', 'd', ' ', 'o', 'k', '\n', '1'};
constexpr char challenge_magic[8] = {'d', '9', 'd', ' ', 'a', 's', '\n', '1'};
constexpr char proof_magic[8] = {'d', '9', 'd', ' ', 'p', 'r', '\n', '1'};

template <class Number>
void put(std::string& into, Number value) {
  into.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <std::size_t size>
void put(std::string& into, const std::array<char, size>& bytes) {
  into.append(bytes.data(), size);
}

void put(std::string& into, const std::string& text) {
  put(into, static_cast<std::uint32_t>(text.size()));
  into += text;
}

std::string framed(const char (&magic)[8], const std::string& body) {
  D9D_CHECK(body.size() <= hello_body_bytes_max, "a hello of {} bytes", body.size());
  std::string frame(magic, sizeof(magic));
  put(frame, static_cast<std::uint32_t>(body.size()));
  return frame + body;
}

std::optional<std::size_t> body_bytes(const char (&magic)[8], const std::byte* head) {
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, head + sizeof(magic), sizeof(bytes));
  const bool right =
      std::memcmp(head, magic, sizeof(magic)) == 0 && bytes > 0 && bytes <= hello_body_bytes_max;
  return right ? std::optional<std::size_t>(bytes) : std::nullopt;
}

// Reads the values that put() wrote. get() returns false if the bytes end too early.
class Body {
 public:
  explicit Body(const std::vector<std::byte>& bytes) : at_(bytes.data()), left_(bytes.size()) {}

  template <class Number>
  bool get(Number& value) {
    return copy(&value, sizeof(value));
  }
  bool get(std::string& text) {
    std::uint32_t size = 0;
    if (!get(size) || size > left_) return false;
    text.resize(size);
    return copy(text.data(), size);
  }
  bool ended() const { return left_ == 0; }

 private:
  bool copy(void* into, std::size_t bytes) {
    if (bytes > left_) return false;
    std::memcpy(into, at_, bytes);
    at_ += bytes;
    left_ -= bytes;
    return true;
  }
  const std::byte* at_;
  std::size_t left_;
};

}  // namespace

std::string frame_of(const Hello& hello) {
  std::string body;
  put(body, static_cast<std::uint8_t>(hello.purpose));
  put(body, static_cast<std::uint8_t>(hello.secret));
  put(body, hello.nonce);
  put(body, hello.opened);
  put(body, hello.from);
  put(body, hello.to);
  put(body, hello.job);
  put(body, hello.group);
  return framed(hello_magic, body);
}

std::string frame_of(const Answer& answer) {
  std::string body;
  put(body, static_cast<std::uint8_t>(answer.verdict));
  put(body, answer.reason.substr(0, hello_body_bytes_max / 2));
  return framed(answer_magic, body);
}

std::string challenge_frame(const Nonce& nonce) {
  return framed(challenge_magic, {nonce.data(), nonce.size()});
}

std::string proof_frame(const Proof& proof) {
  return framed(proof_magic, {proof.data(), proof.size()});
}

bool is_challenge(const std::byte* head) {
  return body_bytes(challenge_magic, head) == proof_body_bytes;
}

bool is_proof(const std::byte* head) {
  return body_bytes(proof_magic, head) == proof_body_bytes;
}

bool is_hello_of_another_version(const std::byte* head) {
  constexpr std::size_t name_bytes = sizeof(hello_magic) - 1;
  return std::memcmp(head, hello_magic, name_bytes) == 0 &&
         std::memcmp(head, hello_magic, sizeof(hello_magic)) != 0;
}

std::array<char, proof_body_bytes> bytes_from(const std::vector<std::byte>& body) {
  D9D_CHECK(body.size() == proof_body_bytes, "a nonce or proof of {} bytes", body.size());
  std::array<char, proof_body_bytes> bytes{};
  std::memcpy(bytes.data(), body.data(), bytes.size());
  return bytes;
}

std::optional<std::size_t> hello_body_bytes(const std::byte* head) {
  return body_bytes(hello_magic, head);
}

std::optional<std::size_t> answer_body_bytes(const std::byte* head) {
  return body_bytes(answer_magic, head);
}

std::optional<Hello> hello_from(const std::vector<std::byte>& bytes) {
  Body body(bytes);
  Hello hello;
  std::uint8_t purpose = 0, secret = 0;
  const bool whole = body.get(purpose) && body.get(secret) && body.get(hello.nonce) &&
                     body.get(hello.opened) && body.get(hello.from) && body.get(hello.to) &&
                     body.get(hello.job) && body.get(hello.group) && body.ended();
  if (!whole || purpose < 1 || purpose > 3 || secret < 1 || secret > 3) return std::nullopt;
  hello.purpose = static_cast<Purpose>(purpose);
  hello.secret = static_cast<SecretKind>(secret);
  return hello;
}

std::optional<Answer> answer_from(const std::vector<std::byte>& bytes) {
  Body body(bytes);
  Answer answer;
  std::uint8_t verdict = 0;
  const bool whole = body.get(verdict) && body.get(answer.reason) && body.ended();
  if (!whole || verdict < 1 || verdict > 4) return std::nullopt;
  answer.verdict = static_cast<Verdict>(verdict);
  return answer;
}

}  // namespace d9d::net
