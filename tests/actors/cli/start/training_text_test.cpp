#include "actors/cli/start/training_text.hpp"

#include <gmock/gmock.h>

#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(TrainingText, IsCountedByFilesParagraphsAndLines) {
  test::TemporaryFolder folder;
  folder.write("a.txt", "one\ntwo\n\n \t\nthree\n");
  folder.write("b.txt", "four");

  const TextLook look = look_through({folder.path() / "a.txt", folder.path() / "b.txt"}, "text");

  EXPECT_FALSE(look.has_rows);
  EXPECT_EQ(look.documents, 2U);
  EXPECT_EQ(look.paragraphs, 3U);
  EXPECT_EQ(look.lines, 4U);
}

TEST(TrainingText, TakesTheTextsOfRows) {
  test::TemporaryFolder folder;
  folder.write("a.jsonl", "{\"body\": \"yes\"}\n{\"body\": \"no\"}\n");

  const TextLook look = look_through({folder.path() / "a.jsonl"}, "body");

  EXPECT_TRUE(look.has_rows);
  EXPECT_EQ(look.documents, 2U);
  EXPECT_EQ(look.words.bytes(), 5U);
}

TEST(TrainingText, HasDocumentsOfTheLargestUnitThatLeavesSomeToHoldOut) {
  test::TemporaryFolder folder;
  folder.write("paragraphs.txt", repeated("a\nb\n\n", 20));
  folder.write("lines.txt", repeated("a\n", 20));
  folder.write("few.txt", repeated("a\n\n", 19));

  const auto unit = [&](const char* name) {
    return document_unit(look_through({folder.path() / name}, "text"));
  };

  EXPECT_EQ(unit("paragraphs.txt"), DocumentUnit::paragraph);
  EXPECT_EQ(unit("lines.txt"), DocumentUnit::line);
  EXPECT_EQ(unit("few.txt"), std::nullopt);
}

TEST(TrainingText, NamesThePlaceOfWhatIsNoText) {
  test::TemporaryFolder folder;
  folder.write("latin.txt", "caf\xe9");
  folder.write("empty.txt", "");
  const auto look = [&](const char* name) {
    return test::error_of([&] { look_through({folder.path() / name}, "text"); });
  };

  EXPECT_THAT(look("latin.txt"), HasSubstr("byte 3 of the text is no UTF-8; convert it"));
  EXPECT_THAT(look("empty.txt"), HasSubstr("there is no text in it"));
  EXPECT_THAT(look("missing.txt"), HasSubstr("missing.txt"));
}

}  // namespace
}  // namespace d9d
