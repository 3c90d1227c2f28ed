#include "runtime/net/hello.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace d9d::net {
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

const Hello some_hello{.purpose = Purpose::tensors,
                       .secret = SecretKind::token,
                       .nonce = fresh_nonce(),
                       .job = "abc",
                       .group = "pp[0,1]/norm@1",
                       .opened = 3,
                       .from = 1};

TEST(Hello, ComesBackAsItWasSaid) {
  const auto frame = bytes_of(frame_of(some_hello));
  const std::vector<std::byte> body(frame.begin() + hello_head_bytes, frame.end());

  ASSERT_EQ(hello_body_bytes(frame.data()), body.size());
  const auto back = hello_from(body);

  ASSERT_TRUE(back);
  EXPECT_EQ(back->purpose, Purpose::tensors);
  EXPECT_EQ(back->secret, SecretKind::token);
  EXPECT_EQ(back->nonce, some_hello.nonce);
  EXPECT_EQ(back->job, "abc");
  EXPECT_EQ(back->group, "pp[0,1]/norm@1");
  EXPECT_EQ(back->opened, 3U);
  EXPECT_EQ(back->from, 1);
}

TEST(Hello, IsNotTakenWhenItIsCutShortOrTooLong) {
  auto body = bytes_of(frame_of(some_hello));
  body.erase(body.begin(), body.begin() + hello_head_bytes);

  for (std::size_t size = 0; size < body.size(); ++size) {
    EXPECT_FALSE(hello_from({body.begin(), body.begin() + static_cast<std::ptrdiff_t>(size)})) << size;
  }
  body.push_back(std::byte{0});
  EXPECT_FALSE(hello_from(body));
}

TEST(Hello, HasABoundAndAMark) {
  std::string frame = frame_of(some_hello);
  const auto size_of = [&] { return hello_body_bytes(reinterpret_cast<const std::byte*>(frame.data())); };
  ASSERT_TRUE(size_of());

  frame.replace(8, 4, std::string("\xff\xff\xff\x7f", 4));
  EXPECT_FALSE(size_of());
  frame = "GET / HTTP/1.1\r\n";
  EXPECT_FALSE(size_of());
}

}  // namespace
}  // namespace d9d::net
