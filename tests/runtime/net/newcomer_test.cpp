// Who gets past the gate's first words, byte for byte: each step is made by hand, nothing waits.
#include "runtime/net/newcomer.hpp"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include "runtime/base/error.hpp"

namespace d9d::net {
namespace {

using State = Newcomer::State;

const Secret token{SecretKind::token, "open sesame"};

// One connection to a gate that knows `secrets`.
class Visit {
 public:
  explicit Visit(const Secrets& secrets) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0)
      throw std::runtime_error("socketpair");
    outside_ = Fd(ends[0]);
    newcomer_ = std::make_unique<Newcomer>(Fd(ends[1]), nullptr, secrets, Deadline::max());
  }
  State say(const std::string& bytes) {
    EXPECT_EQ(send(outside_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    return newcomer_->step();
  }
  // Without an end.
  std::string heard() {
    std::string all(4096, '\0');
    const ssize_t n = recv(outside_.get(), all.data(), all.size(), 0);
    all.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    return all;
  }
  // The nonce of the challenge that was heard.
  Nonce challenge() {
    const std::string frame = heard();
    EXPECT_EQ(frame.size(), hello_head_bytes + proof_body_bytes);
    EXPECT_TRUE(is_challenge(reinterpret_cast<const std::byte*>(frame.data())));
    Nonce nonce{};
    std::copy_n(frame.begin() + hello_head_bytes, nonce.size(), nonce.begin());
    return nonce;
  }
  Newcomer& newcomer() { return *newcomer_; }
  Verdict verdict() const { return newcomer_->refusal() ? newcomer_->refusal()->verdict : Verdict::yes; }

 private:
  Fd outside_;
  std::unique_ptr<Newcomer> newcomer_;
};

std::string hello_frame(Purpose purpose = Purpose::joining) {
  return frame_of(Hello{.purpose = purpose, .secret = SecretKind::token, .nonce = fresh_nonce()});
}

class NewcomerTest : public testing::Test {
 protected:
  std::string proof(const std::string& hello, const Nonce& challenge, Side side = Side::dials) const {
    return proof_frame(proof_of(key_of(token), side, {hello, challenge, ""}));
  }
  const Secrets secrets_{token};
};

TEST_F(NewcomerTest, IsReadyWhenItHasProvedWhatItSaidAndHearsAProofInReturn) {
  Visit visit(secrets_);
  const std::string hello = hello_frame();

  EXPECT_EQ(visit.say(hello), State::reads);
  const Nonce challenge = visit.challenge();
  EXPECT_EQ(visit.say(proof(hello, challenge)), State::ready);

  EXPECT_EQ(visit.verdict(), Verdict::yes);
  EXPECT_NE(visit.newcomer().answer({Verdict::yes}), nullptr);
  EXPECT_EQ(visit.heard(), frame_of(Answer{Verdict::yes}) + proof(hello, challenge, Side::accepts));
}

TEST_F(NewcomerTest, IsAStrangerWithAnotherToken) {
  const Secrets others({SecretKind::token, "another"});
  Visit visit(others);
  const std::string hello = hello_frame();
  visit.say(hello);

  EXPECT_EQ(visit.say(proof(hello, visit.challenge())), State::ready);

  ASSERT_EQ(visit.verdict(), Verdict::stranger);
  EXPECT_EQ(visit.newcomer().refusal()->reason, "the job token (node.job_token) differs");
}

TEST_F(NewcomerTest, IsAStrangerWhoSaysAgainWhatAnotherHasSaid) {
  Visit first(secrets_);
  const std::string hello = hello_frame();
  first.say(hello);
  const std::string captured = proof(hello, first.challenge());
  EXPECT_EQ(first.say(captured), State::ready);
  ASSERT_EQ(first.verdict(), Verdict::yes);

  Visit again(secrets_);
  again.say(hello + captured);

  EXPECT_EQ(again.verdict(), Verdict::stranger);
}

// A job that has no secret is kept from replays all the same.
TEST_F(NewcomerTest, IsAStrangerWhoSaysItAgainWhereNobodyHasASecret) {
  const Secrets none;
  const std::string hello = frame_of(Hello{.nonce = fresh_nonce()});
  Visit first(none), again(none);
  first.say(hello);
  const std::string captured = proof_frame(proof_of(key_of({}), Side::dials, {hello, first.challenge(), ""}));
  first.say(captured);
  ASSERT_EQ(first.verdict(), Verdict::yes);

  again.say(hello + captured);

  EXPECT_EQ(again.verdict(), Verdict::stranger);
}

TEST_F(NewcomerTest, IsAStrangerWhoSendsTheGatesOwnWordsBack) {
  const std::string hello = hello_frame();
  Visit nonce(secrets_), proof_of_gate(secrets_);
  nonce.say(hello);
  proof_of_gate.say(hello);

  nonce.say(proof_frame(nonce.challenge()));
  proof_of_gate.say(proof(hello, proof_of_gate.challenge(), Side::accepts));

  EXPECT_EQ(nonce.verdict(), Verdict::stranger);
  EXPECT_EQ(proof_of_gate.verdict(), Verdict::stranger);
}

TEST_F(NewcomerTest, IsAStrangerWhoHasProvedThePurposeOfAnotherConnection) {
  Visit visit(secrets_);
  const std::string joining = hello_frame(Purpose::joining), tensors = hello_frame(Purpose::tensors);
  visit.say(tensors);

  visit.say(proof(joining, visit.challenge()));

  EXPECT_EQ(visit.verdict(), Verdict::stranger);
}

TEST_F(NewcomerTest, IsNotReadyBeforeTheLastByte) {
  Visit visit(secrets_);
  const std::string hello = hello_frame();
  for (const char byte : hello) {
    EXPECT_EQ(visit.heard(), "");
    EXPECT_EQ(visit.say(std::string(1, byte)), State::reads);
  }
  const std::string whole = proof(hello, visit.challenge());
  for (std::size_t i = 0; i + 1 < whole.size(); ++i)
    EXPECT_EQ(visit.say(whole.substr(i, 1)), State::reads) << i;
  EXPECT_EQ(visit.say(whole.substr(whole.size() - 1)), State::ready);
  EXPECT_EQ(visit.verdict(), Verdict::yes);
}

TEST_F(NewcomerTest, FailsWhoSaysSomethingElseThanAProof) {
  for (const std::string& text : {hello_frame(), std::string(64, 'x'), frame_of(Answer{Verdict::yes})}) {
    Visit visit(secrets_);
    visit.say(hello_frame());

    EXPECT_EQ(visit.say(text), State::failed);
    EXPECT_EQ(visit.newcomer().why(), "what it says is not d9d's protocol");
  }
}

TEST_F(NewcomerTest, IsToldThatItIsOfAnotherVersion) {
  Visit visit(secrets_);
  std::string old = hello_frame();
  old[7] = '1';

  EXPECT_EQ(visit.say(old), State::ready);

  ASSERT_EQ(visit.verdict(), Verdict::no);
  visit.newcomer().answer(*visit.newcomer().refusal());
  EXPECT_THAT(visit.heard(), testing::AllOf(testing::StartsWith("d9d ok\n1"),
                                            testing::HasSubstr("it runs another version of d9d")));
}

TEST_F(NewcomerTest, IsToldToComeLaterWhereTheJobHasNotFormed) {
  const Secrets forming(token, true);
  Visit member(forming), joining(forming);

  EXPECT_EQ(member.say(hello_frame(Purpose::actors)), State::ready);
  EXPECT_EQ(member.verdict(), Verdict::later);
  EXPECT_EQ(joining.say(hello_frame(Purpose::joining)), State::reads) << "it is challenged";
}

}  // namespace
}  // namespace d9d::net
