#include "runtime/text/prompted_texts.hpp"

#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TextRequest request_of(std::vector<std::vector<std::int64_t>> prompts) {
  TextRequest request{.prompts = std::move(prompts), .options = {}};
  request.options.max_new_tokens = 2;
  return request;
}

TEST(PromptedTexts, AreDealtOutOverTheStagesAndComeBackInTheirOrder) {
  PromptedTexts texts(request_of({{1}, {2, 2}, {3}}), 2);
  const auto microbatches = texts.microbatches();
  ASSERT_EQ(microbatches.size(), 2U);
  EXPECT_EQ(microbatches[0].inputs.at("input_ids").size(0), 2);
  EXPECT_EQ(microbatches[1].shared.at("prompt_lengths")[0].item<std::int64_t>(), 2);

  texts.process_outputs({1, 1, {{"tokens", at::tensor({7L, -1L}).view({1, 2})}}, {}, {1}});
  EXPECT_THAT(PromptedTexts(request_of({{1}}), 2).take(), IsEmpty()) << "nothing came here";
  texts.process_outputs({1, 0, {{"tokens", at::tensor({5L, 6L, 8L, 9L}).view({2, 2})}}, {}, {0, 2}});

  EXPECT_THAT(texts.take(), ElementsAre(WrittenText{{5, 6}}, WrittenText{{7}}, WrittenText{{8, 9}}));
}

TEST(PromptedTexts, HaveNumbersFromTheFirstOnAndLogProbabilitiesWhereTheyAreAskedFor) {
  TextRequest request = request_of({{1}, {2}});
  request.first = 40;
  request.options.log_probs = true;
  PromptedTexts texts(request, 1);
  const at::Tensor numbers = texts.microbatches().at(0).shared.at("sample_numbers");
  EXPECT_EQ(numbers[0].item<std::int64_t>(), 40);
  EXPECT_EQ(numbers[1].item<std::int64_t>(), 41);

  texts.process_outputs({1,
                         0,
                         {{"tokens", at::tensor({5L, -1L, 8L, 9L}).view({2, 2})},
                          {"log_probs", at::tensor({-1.F, 0.F, -2.F, -3.F}).view({2, 2})}},
                         {},
                         {40, 41}});

  EXPECT_THAT(texts.take(), ElementsAre(WrittenText{{5}, {-1}}, WrittenText{{8, 9}, {-2, -3}}));
}

TEST(PromptedTexts, RefuseWhatCannotBe) {
  EXPECT_THAT(test::error_of([] { PromptedTexts(request_of({}), 1); }), HasSubstr("0 prompts"));
  EXPECT_THAT(test::error_of([] { PromptedTexts(request_of({{1}, {}}), 1); }), HasSubstr("no tokens"));
}

}  // namespace
}  // namespace d9d
