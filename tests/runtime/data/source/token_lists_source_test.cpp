#include "runtime/data/source/token_lists_source.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TokenListsDataConfig lists_of(std::string file) {
  TokenListsDataConfig config;
  config.files = {std::move(file)};
  config.format = RowFormat::jsonl;
  config.sequence_length = 4;
  return config;
}

std::string refusal_of_lists(const TokenListsDataConfig& config, std::optional<std::int64_t> below = {}) {
  return test::error_of([&] { const TokenListsSource source(config, below); }, ErrorKind::input);
}

TEST(TokenListsSource, IsARowOfTheListsCutEveryLength) {
  const Folder folder;
  const TokenListsSource source(lists_of(folder.write("a.jsonl",
                                                      "{\"input_ids\": [1, 2, 3]}\n{\"input_ids\": []}\n"
                                                      "{\"input_ids\": [4, 5, 6, 7, 8, 9]}\n")),
                                100000);
  ASSERT_EQ(source.num_samples(), 2U);
  EXPECT_THAT(source.at(1).input_ids, ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(source.at(1).labels, ElementsAre(6, 7, 8, 9));
}

TEST(TokenListsSource, CountsWhatHasALabel) {
  const Folder folder;
  TokenListsDataConfig config =
      lists_of(folder.write("a.jsonl", "{\"ids\": [1, 2, 3, 4], \"labels\": [-100, -100, 3, 4]}\n"));
  config.ids_field = "ids";
  config.labels_field = "labels";
  config.samples = SampleUnit::document;
  const TokenListsSource source(config);
  EXPECT_THAT(source.at(0).input_ids, ElementsAre(1, 2, 3, 0));
  EXPECT_THAT(source.at(0).labels, ElementsAre(ignored_label, 3, 4, ignored_label));
}

// Row by row: padded on the right, on the left, not at all, all of it, without a mask.
TEST(TokenListsSource, LeavesOutThePaddingThatAMaskTells) {
  const Folder folder;
  TokenListsDataConfig config =
      lists_of(folder.write("a.jsonl", R"({"input_ids": [1, 2, 3, 0, 0], "attention_mask": [1, 1, 1, 0, 0]}
{"input_ids": [0, 0, 4, 5], "attention_mask": [0, 0, 1, 1]}
{"input_ids": [6, 7], "attention_mask": [1, 1]}
{"input_ids": [0, 0], "attention_mask": [0, 0]}
{"input_ids": [8, 9]}
)"));
  config.samples = SampleUnit::document;
  const auto labels_of = [](const TokenListsSource& source) {
    std::vector<std::int64_t> labels;
    for (std::uint64_t i = 0; i < *source.num_samples(); ++i) {
      for (const std::int64_t label : source.at(i).labels) {
        if (label != ignored_label) labels.push_back(label);
      }
    }
    return labels;
  };

  const TokenListsSource source(config);
  EXPECT_THAT(labels_of(source), ElementsAre(2, 3, 5, 7, 9));
  EXPECT_THAT(source.at(1).input_ids, ElementsAre(4, 0, 0, 0)) << "the first token is at position 0";
  EXPECT_THAT(source.at(1).token_mask, ElementsAre(true, false, false, false));
  config.mask_field = std::nullopt;
  EXPECT_EQ(labels_of(TokenListsSource(config)).size(), 4U + 3 + 1 + 1 + 1);
}

TEST(TokenListsSource, LeavesOutTheLabelsOfPaddingToo) {
  const Folder folder;
  TokenListsDataConfig config = lists_of(folder.write(
      "a.jsonl", R"({"input_ids": [0, 4, 5, 6], "m": [0, 1, 1, 1], "labels": [-100, -100, 5, 6]})"));
  config.samples = SampleUnit::document;
  config.labels_field = "labels";
  config.mask_field = "m";

  const Sample sample = TokenListsSource(config).at(0);

  EXPECT_THAT(sample.input_ids, ElementsAre(4, 5, 0, 0));
  EXPECT_THAT(sample.labels, ElementsAre(5, 6, ignored_label, ignored_label));
}

TEST(TokenListsSource, RefusesMasksOfAnotherKind) {
  const Folder folder;
  const auto refusal_of = [&](const std::string& mask) {
    return refusal_of_lists(
        lists_of(folder.write("a.jsonl", "{\"input_ids\": [1, 2, 3], \"attention_mask\": " + mask + "}\n")));
  };

  EXPECT_THAT(
      refusal_of("[1, 0, 1]"),
      HasSubstr("a.jsonl:1: \"attention_mask\" is 0 at 1, expected 1 for tokens, and 0 for padding before "
                "and after them alone; mend the file, or set data.mask_field to null"));
  EXPECT_THAT(refusal_of("[1, 1, 2]"), HasSubstr("is 2 at 2"));
  EXPECT_THAT(refusal_of("[1, 1]"), HasSubstr("3 ids and 2 values of \"attention_mask\", expected as many"));
}

TEST(TokenListsSource, RefusesWhatAreNoIdsOrNoLabels) {
  const Folder folder;
  const auto with = [&](const std::string& line) {
    TokenListsDataConfig config = lists_of(folder.write("a.jsonl", line));
    config.labels_field = "labels";
    return config;
  };
  EXPECT_THAT(refusal_of_lists(with(R"({"ids": [1]})")),
              HasSubstr("a.jsonl:1: no list under \"input_ids\"; name the key with data.ids_field"));
  EXPECT_THAT(
      refusal_of_lists(with(R"({"input_ids": null, "labels": [1]})")),
      HasSubstr("a.jsonl:1: \"input_ids\" is null, expected a list of integers; mend the file, or name "
                "another key with data.ids_field"));
  EXPECT_THAT(refusal_of_lists(with(R"({"input_ids": "6 3", "labels": [1]})")),
              HasSubstr("\"input_ids\" is the text \"6 3\", expected a list of integers"));
  EXPECT_THAT(refusal_of_lists(with(R"({"input_ids": [6], "labels": {"a": 1}})")),
              HasSubstr("\"labels\" is the object {\"a\":1}, expected a list"));
  EXPECT_THAT(refusal_of_lists(with(R"({"input_ids": [1.5], "labels": [1]})")),
              HasSubstr("expected integers"));
  EXPECT_THAT(refusal_of_lists(with(R"({"input_ids": [1, -2], "labels": [1, -2]})")),
              HasSubstr("a.jsonl:1: token 1 is -2, expected 0 or more"));
  EXPECT_THAT(refusal_of_lists(with(R"({"input_ids": [1, 600], "labels": [1, 600]})"), 512),
              HasSubstr("token 1 is 600, but model_provider.model.vocab_size is 512"));
  EXPECT_THAT(refusal_of_lists(with(R"({"input_ids": [1, 2], "labels": [2]})")),
              HasSubstr("2 ids and 1 labels"));
  EXPECT_THAT(refusal_of_lists(with(R"({"input_ids": [1, 2], "labels": [2, -100]})")),
              HasSubstr("label 0 is 2 beside the id 1, expected the id or -100; labels are not shifted"));
}

}  // namespace
}  // namespace d9d
