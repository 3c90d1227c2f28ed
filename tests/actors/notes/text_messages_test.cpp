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
  fill_rollouts(message.initRoot<wire::WriteRollouts>(), request);

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

}  // namespace
}  // namespace d9d
