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

}  // namespace
}  // namespace d9d
