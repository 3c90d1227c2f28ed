// The values are those of Python's hashlib.pbkdf2_hmac and hmac over "LENGTH:PART" of each part.
#include "runtime/net/proof.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <set>

namespace d9d::net {
namespace {

std::string hex(const std::array<char, 32>& bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

Nonce nonce_of(char letter) {
  Nonce nonce{};
  nonce.fill(letter);
  return nonce;
}

const Secret sesame{SecretKind::token, "open sesame"};

TEST(Proof, HasAKeyOfItsSecret) {
  EXPECT_EQ(hex(key_of(sesame)), "2fd8a9c6b9b0fe0c63d35a15ba80f33ac3c9b3bb887aa6c42fbe58b07789aec2");
  EXPECT_EQ(hex(key_of({})), "53692fbd32bd01d57b2878a981ab87eead8798c78fa70935c96a2ebc593116c1");
  EXPECT_EQ(hex(member_key_of(key_of(sesame), "formed")),
            "b61d333c3ccf208dcb754a5ae881850a9c37849e48aac486c68527723a8c7d38");
}

TEST(Proof, IsAnHmacOverAllThatWasSaid) {
  EXPECT_EQ(hex(proof_of(key_of(sesame), Side::dials, {"hello", nonce_of('n'), ""})),
            "5c85a07cb7b541edc02d6abcf5655c992e71fa2f7ddb16ba48298dba0cf1f0d7");
  EXPECT_EQ(hex(proof_of(key_of(sesame), Side::accepts, {"hello", nonce_of('n'), "tls"})),
            "9a6d4e33f1161cde73191518d14e6bd9b1e7603d687bd81014f6e86e1d4b2475");
}

TEST(Proof, IsAnotherOneWhereAnythingDiffers) {
  const Key key = key_of(sesame), other = key_of({SecretKind::token, "open sesamE"});
  const Said said{"hello", nonce_of('n'), "tls"};

  const std::set<std::string> all{hex(proof_of(key, Side::dials, said)),
                                  hex(proof_of(key, Side::accepts, said)),
                                  hex(proof_of(other, Side::dials, said)),
                                  hex(proof_of(key, Side::dials, {"hellO", nonce_of('n'), "tls"})),
                                  hex(proof_of(key, Side::dials, {"hello", nonce_of('m'), "tls"})),
                                  hex(proof_of(key, Side::dials, {"hello", nonce_of('n'), "tlS"}))};

  EXPECT_EQ(all.size(), 6U);
}

TEST(Proof, IsComparedToItsLastByte) {
  const Proof right = proof_of(key_of({}), Side::dials, {});
  Proof wrong = right;
  wrong.back() = static_cast<char>(wrong.back() ^ 1);

  EXPECT_TRUE(same(right, right));
  EXPECT_FALSE(same(right, wrong));
}

TEST(Proof, NoncesAndTextsAreDrawnAnew) {
  EXPECT_NE(fresh_nonce(), fresh_nonce());
  EXPECT_NE(random_text(), random_text());
  EXPECT_EQ(random_text().size(), 64U);
}

}  // namespace
}  // namespace d9d::net
