#include "runtime/data/source/text/unread_columns.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/data/source/chat_source.hpp"
#include "runtime/data/source/text/documents.hpp"
#include "runtime/data/source/token_lists_source.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/runtime/data/table/arrow_files.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string said_by(const std::function<void()>& work) {
  testing::internal::CaptureStderr();
  work();
  return testing::internal::GetCapturedStderr();
}

class UnreadColumnsTest : public testing::Test {
 protected:
  std::string said_of_texts(const std::string& file) const {
    TextDataConfig config;
    config.files = {file};
    return said_by([&] { for_each_document(config, [](const Document&) {}); });
  }
  std::string said_of_lists(const std::string& file) const {
    TokenListsDataConfig config;
    config.files = {file};
    config.sequence_length = 2;
    return said_by([&] { const TokenListsSource source(config); });
  }
  std::shared_ptr<arrow::RecordBatch> lists() const {
    return test::batch_of({{"id", test::text_column({"a", "b"})},
                           {"input_ids", test::ids_column({{1, 2, 3}, {4, 5}})},
                           {"attention_mask", test::ids_column({{1, 1, 1}, {1, 1}})}});
  }

  const Folder folder_;
};

TEST_F(UnreadColumnsTest, OfTextsAreNamedOnceWithACount) {
  const auto texts = test::batch_of(
      {{"text", test::text_column({"one", "two", "three"})}, {"title", test::text_column({"a", "b", "c"})}});
  const std::string expected = R"(data.files: not read: "title" of 3 rows)";
  EXPECT_THAT(said_of_texts(test::write_arrow(folder_.path("t.arrow"), {texts})), HasSubstr(expected));
  EXPECT_THAT(said_of_texts(test::write_parquet(folder_.path("t.parquet"), {texts}, 2)), HasSubstr(expected));
  EXPECT_THAT(said_of_texts(folder_.write("t.csv", "title,text\na,one\nb,two\nc,three\n")),
              HasSubstr(expected));
  EXPECT_THAT(said_of_texts(folder_.write("t.jsonl", R"({"text": "one", "title": "a"}
{"text": "two", "title": "b"}
{"text": "three", "title": "c", "none": null}
)")),
              HasSubstr(expected + "\n"));
}

TEST_F(UnreadColumnsTest, OfListsOfIdsAreNamedWhetherTheyAreMappedOrNot) {
  const std::string expected = R"(data.files: not read: "id" of 2 rows)";
  for (const std::string& file : {test::write_arrow(folder_.path("t.arrow"), {lists()}),
                                  test::write_parquet(folder_.path("t.parquet"), {lists()}, 2)}) {
    const std::string said = said_of_lists(file);
    EXPECT_THAT(said, HasSubstr(expected)) << file;
    EXPECT_THAT(said, Not(HasSubstr("attention_mask"))) << file;
  }
}

TEST_F(UnreadColumnsTest, OfConversationsAreNamed) {
  ChatDataConfig config;
  config.files = {folder_.write("t.csv", "id,prompt,completion\n1,hello,there\n2,good,day\n")};
  config.tokenizer = D9D_SOURCE_DIR "/tests/golden/tokenizer/qwen.json";
  config.roles = {{"user", {"", ""}}, {"assistant", {"", ""}}};
  config.sequence_length = 8;
  EXPECT_THAT(said_by([&] { const ChatSource source(config); }),
              HasSubstr(R"(data.files: not read: "id" of 2 rows)"));
}

}  // namespace
}  // namespace d9d
