#include "actors/notes/text_messages.hpp"

#include <capnp/message.h>
#include <gtest/gtest.h>

namespace d9d {
namespace {

TEST(TextMessages, ARequestTravelsWhole) {
  TextRequest request{.prompts = {{1, 2}, {3}}, .options = {}};
  request.options.max_new_tokens = 9;
  request.options.temperature = 0.5;
  request.options.top_p = 0.8;
  request.options.seed = 4;
  request.options.ends = {7};
  capnp::MallocMessageBuilder message;
  fill_request(message.initRoot<wire::GenerateTexts>(), request);

  const TextRequest read = text_request_of(message.getRoot<wire::GenerateTexts>().asReader());

  EXPECT_EQ(read.prompts, request.prompts);
  EXPECT_EQ(read.options.max_new_tokens, 9);
  EXPECT_EQ(read.options.temperature, 0.5);
  EXPECT_EQ(read.options.top_p, 0.8);
  EXPECT_EQ(read.options.seed, 4U);
  EXPECT_EQ(read.options.ends, request.options.ends);
}

TEST(TextMessages, ARequestForRolloutsAsksForNumbersAndLogProbabilities) {
  TextRequest request{.prompts = {{1, 2}, {3}}, .options = {}, .first = 12};
  request.options.ends = {7};
  capnp::MallocMessageBuilder message;
  fill_rollouts(message.initRoot<wire::WriteRollouts>(), request, request.prompts);

  const TextRequest read = text_request_of(message.getRoot<wire::WriteRollouts>().asReader());

  EXPECT_EQ(read.prompts, request.prompts);
  EXPECT_EQ(read.options.ends, request.options.ends);
  EXPECT_EQ(read.first, 12U);
  EXPECT_TRUE(read.of_replica && read.options.log_probs);
}

TEST(TextMessages, RolloutsTravelToTheBit) {
  const Texts texts{{{1, 2}, {-0.1F, -2.5e-7F}}, {{3}, {-30.F}}};
  capnp::MallocMessageBuilder message;
  fill_texts(message.initRoot<wire::RolloutsWritten>(), texts);

  EXPECT_EQ(texts_of(message.getRoot<wire::RolloutsWritten>().asReader()), texts);
}

// An actor refuses messages of more than 16 MiB.
TEST(TextMessages, ManyTokensTravelInSeveralMessages) {
  const TextRequest request{.prompts = {{1, 2}, {3}, {4, 5, 6, 7}, {8}}, .options = {}, .first = 12};
  std::optional<TextRequest> part, whole;
  std::vector<std::size_t> sizes;

  in_parts(
      request,
      [&](auto prompts, bool more) {
        EXPECT_FALSE(whole);
        sizes.push_back(prompts.size());
        capnp::MallocMessageBuilder message;
        auto write = message.initRoot<wire::WriteRollouts>();
        fill_rollouts(write, request, prompts);
        write.setMore(more);
        whole = joined(part, write.asReader());
      },
      3);

  EXPECT_EQ(sizes, (std::vector<std::size_t>{2, 1, 1}))
      << "a prompt that is too long has a message of its own";
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->prompts, request.prompts);
  EXPECT_EQ(whole->first, 12U);
  EXPECT_FALSE(part);
}

TEST(TextMessages, LongTextsTravelInSeveralMessages) {
  const Texts texts{{{1, 2}, {-1, -2}}, {{3}, {-3}}, {{4}, {-4}}};
  for (const std::size_t tokens : {1, 3, 100}) {
    Texts part;
    std::optional<Texts> whole;
    std::size_t messages = 0;
    in_parts(
        texts,
        [&](std::span<const WrittenText> some, bool more) {
          EXPECT_FALSE(whole);
          ++messages;
          capnp::MallocMessageBuilder message;
          auto written = message.initRoot<wire::RolloutsWritten>();
          fill_texts(written, some);
          written.setMore(more);
          whole = joined(part, written.asReader());
        },
        tokens);
    EXPECT_EQ(messages, tokens == 1 ? 3U : tokens == 3 ? 2U : 1U);
    EXPECT_EQ(whole, texts);
  }
}

}  // namespace
}  // namespace d9d
