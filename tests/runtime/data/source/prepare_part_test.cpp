#include "runtime/data/source/prepare_part.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/data/build_source.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

std::vector<Sample> samples_of_part(const PartConfig& part) {
  const auto as_data = [](const auto& source) { return DataConfig(source); };
  const auto source = build_source(std::visit(as_data, part), {.ids_below = 100000});
  std::vector<Sample> samples;
  for (std::uint64_t i = 0; i < source->num_samples().value(); ++i) samples.push_back(source->at(i));
  return samples;
}

// Made ids have to be those of the files, and are read without them.
void expect_same_from_cache(PartConfig part, const std::string& file) {
  const std::vector<Sample> made_for_the_job = samples_of_part(part);
  std::uint64_t last = 0;
  const auto first = prepare_part({"data", part}, [&](std::uint64_t done, std::uint64_t) { last = done; });
  ASSERT_TRUE(first && first->made);
  EXPECT_GT(last, 0U);
  EXPECT_FALSE(prepare_part({"data", part}, [](std::uint64_t, std::uint64_t) {})->made);
  const std::string moved = file + ".moved";
  std::filesystem::rename(file, moved);
  std::visit(
      [&](auto& source) {
        if constexpr (requires { source.files; }) source.files = {moved};
      },
      part);

  EXPECT_EQ(samples_of_part(part), made_for_the_job);
}

TEST(PreparePart, KeepsWhichTokensOfConversationsCount) {
  const Folder folder;
  ChatDataConfig chat;
  chat.files = {folder.write("talk.jsonl", R"({"prompt": "the house of ", "completion": "the king"}
{"prompt": "the actor ", "completion": "sends the message"}
)")};
  chat.tokenizer = D9D_SOURCE_DIR "/tests/golden/tokenizer/qwen.json";
  chat.sequence_length = 16;
  chat.eos_token = "<|endoftext|>";
  chat.cache = folder.path("cache");

  expect_same_from_cache(chat, chat.files.front());
}

TEST(PreparePart, KeepsListsOfIdsAndTheirLabels) {
  const Folder folder;
  TokenListsDataConfig lists;
  lists.files = {folder.write("ids.jsonl", R"({"input_ids": [1, 70000, 3], "labels": [1, -100, 3]}
{"input_ids": [4, 5, 6, 7], "labels": [4, 5, -100, -100]}
)")};
  lists.format = RowFormat::jsonl;
  lists.labels_field = "labels";
  lists.sequence_length = 3;
  lists.samples = SampleUnit::packed;
  lists.cache = folder.path("cache");

  expect_same_from_cache(lists, lists.files.front());
}

TEST(PreparePart, MakesNothingOfOtherSourcesAndAsksForAFolder) {
  const TokenProgress ignored = [](std::uint64_t, std::uint64_t) {};
  EXPECT_FALSE(prepare_part({"data", MegatronDataConfig()}, ignored));
  const Folder folder;
  TokenListsDataConfig lists;
  lists.files = {folder.write("ids.jsonl", "{\"input_ids\": [1]}\n")};
  lists.format = RowFormat::jsonl;
  EXPECT_THAT(test::error_of(
                  [&] {
                    prepare_part({"data.parts.1", lists}, ignored);
                  },
                  ErrorKind::input),
              HasSubstr("data.parts.1.cache is missing"));
}

}  // namespace
}  // namespace d9d
