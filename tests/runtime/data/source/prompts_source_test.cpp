#include "runtime/data/source/prompts_source.hpp"

#include <gmock/gmock.h>

#include <filesystem>

#include "runtime/base/error.hpp"
#include "runtime/tokenizer/tokenizer.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/needs_jinja.hpp"

namespace d9d {
namespace {

using testing::Each;
using testing::HasSubstr;

PromptsDataConfig prompts_of(std::string file, std::int64_t length) {
  PromptsDataConfig config;
  config.files = {std::move(file)};
  config.tokenizer = std::string(D9D_SOURCE_DIR) + "/tests/golden/tokenizer/qwen.json";
  config.sequence_length = length;
  return config;
}

TEST(PromptsSource, SaysWhichTokensFillASampleUp) {
  const Folder folder;
  const PromptsSource source(prompts_of(folder.write("p.txt", "the house of the king\na\n"), 24));

  ASSERT_EQ(source.num_samples(), 2U);
  const Sample one = source.at(1), again = source.at(3);
  EXPECT_EQ(one, again);
  const auto prompt = std::count(one.document_starts.begin(), one.document_starts.end(), 0);
  EXPECT_EQ(prompt, 1);
  EXPECT_THAT(one.labels, Each(ignored_label)) << "nothing follows a prompt of one token";
  const Sample longer = source.at(0);
  EXPECT_EQ(longer.input_ids.size(), 24U);
  EXPECT_EQ(longer.labels[0], longer.input_ids[1]);
}

TEST(PromptsSource, LabelsEachTokenWithItselfWhereTheTaskLearnsNoNextOne) {
  const Folder folder;
  const PromptsSource source(prompts_of(folder.write("p.txt", "the house of the king\na\n"), 24), {},
                             TokenLabels::own);

  for (const std::uint64_t index : {0, 1}) {
    const Sample sample = source.at(index);
    for (std::size_t i = 0; i < 24; ++i)
      EXPECT_EQ(sample.labels[i], sample.document_starts[i] == 0 ? sample.input_ids[i] : ignored_label);
  }
}

// tests/golden/tokenizer/template.json puts tokens around a text; expect.template.json has them.
TEST(PromptsSource, PutsTheBeginOfTextBeforeAPromptOnce) {
  const Folder folder;
  PromptsDataConfig config = prompts_of(folder.write("p.txt", "a\n"), 24);
  config.tokenizer = std::string(D9D_SOURCE_DIR) + "/tests/golden/tokenizer/template.json";
  const Tokenizer tokenizer = Tokenizer::from_file(config.tokenizer);
  const auto plain = tokenizer.encode("a", false), special = tokenizer.encode("a", true);
  ASSERT_GT(special.size(), plain.size());
  const std::string begin = tokenizer.token_text(special[0]).value();

  const Sample sample = PromptsSource(config).at(0);
  config.files = {folder.write("q.txt", begin + "a\n")};
  const Sample again = PromptsSource(config).at(0);

  EXPECT_EQ(std::count(sample.document_starts.begin(), sample.document_starts.end(), 0), std::ssize(special));
  for (std::size_t i = 0; i < special.size(); ++i) EXPECT_EQ(sample.input_ids[i], special[i]);
  EXPECT_EQ(sample.input_ids, again.input_ids) << "written in the prompt";
}

TEST(PromptsSource, RefusesPromptsThatDoNotFit) {
  const Folder folder;
  const std::string file = folder.write("p.txt", "a\nthe house of the king and the stone\n");

  EXPECT_THAT(test::error_of([&] { PromptsSource(prompts_of(file, 2)); }),
              HasSubstr("p.txt:2: the prompt has "));
  EXPECT_THAT(test::error_of([&] { PromptsSource(prompts_of(folder.write("e.txt", "\n"), 2)); }),
              HasSubstr("there is no prompt in them"));
}

TEST(PromptsSource, WriteMessagesUpToWhereTheAnswerBegins) {
  D9D_NEEDS_JINJA();
  const Folder folder;
  const std::string golden = std::string(D9D_SOURCE_DIR) + "/tests/golden/tokenizer/qwen.json";
  std::filesystem::copy_file(golden, folder.path("tokenizer.json"));
  folder.write("chat_template.jinja",
               "{% for m in messages %}<|im_start|>{{ m.role }} {{ m.content }}<|im_end|>{% endfor %}"
               "{% if add_generation_prompt %}<|im_start|>assistant{% endif %}");
  PromptsDataConfig config =
      prompts_of(folder.write("p.jsonl", R"({"messages": [{"role": "user", "content": "who?"}]}
{"prompt": [{"role": "user", "content": "what?"}]}
{"prompt": "the house"}
)"),
                 40);
  config.tokenizer = folder.path("tokenizer.json");
  const PromptsSource source(config);
  const Tokenizer tokenizer = Tokenizer::from_file(golden);
  const auto begins_with = [&](std::uint64_t index, const std::string& text) {
    const auto ids = source.at(index).input_ids;
    const auto expected = tokenizer.encode(text, false);
    return std::equal(expected.begin(), expected.end(), ids.begin());
  };

  EXPECT_TRUE(begins_with(0, "<|im_start|>user who?<|im_end|><|im_start|>assistant"));
  EXPECT_TRUE(begins_with(1, "<|im_start|>user what?<|im_end|><|im_start|>assistant"));
  EXPECT_TRUE(begins_with(2, "the house"));
}

}  // namespace
}  // namespace d9d
