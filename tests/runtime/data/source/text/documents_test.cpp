#include "runtime/data/source/text/documents.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TextDataConfig jsonl_or_text(std::vector<std::string> files) {
  TextDataConfig config;
  config.files = std::move(files);
  return config;
}

std::vector<std::string> documents_of(const TextDataConfig& config) {
  std::vector<std::string> out;
  for_each_document(config, [&](const Document& document) { out.emplace_back(document.text); });
  return out;
}

std::string refusal_of(const TextDataConfig& config) {
  return test::error_of([&] { documents_of(config); }, ErrorKind::input);
}

TEST(Documents, AreFilesParagraphsOrLinesAsAsked) {
  const Folder folder;
  TextDataConfig config = jsonl_or_text(
      {folder.write("a.txt", "\n\none\ntwo\n \t\n\nthree\r\nfour\r\n"), folder.write("b.txt", "")});

  EXPECT_THAT(documents_of(config), ElementsAre("\n\none\ntwo\n \t\n\nthree\r\nfour\r\n"));
  config.document = DocumentUnit::paragraph;
  EXPECT_THAT(documents_of(config), ElementsAre("one\ntwo", "three\r\nfour"));
  config.document = DocumentUnit::line;
  EXPECT_THAT(documents_of(config), ElementsAre("one", "two", " \t", "three", "four"));
}

TEST(Documents, OfAPatternComeInTheOrderOfTheirNames) {
  const Folder folder;
  folder.write("2.txt", "second");
  folder.write("1.txt", "first");
  folder.write("3.md", "other");

  EXPECT_THAT(documents_of(jsonl_or_text({folder.path("*.txt"), folder.path("3.md")})),
              ElementsAre("first", "second", "other"));
  EXPECT_THAT(refusal_of(jsonl_or_text({folder.path("*.pdf")})), HasSubstr("nothing matches"));
  EXPECT_THAT(refusal_of(jsonl_or_text({folder.path("absent.txt")})), HasSubstr("cannot open"));
  EXPECT_THAT(refusal_of(jsonl_or_text({})), HasSubstr("data.files is empty"));
}

TEST(Documents, OfJsonLinesAreTheTextUnderTheField) {
  const Folder folder;
  TextDataConfig config = jsonl_or_text(
      {folder.write("a.jsonl", "{\"body\": \"caf\\u00e9\\n\"}\n\n{\"body\": \"\"}\n{\"body\": \"x\"}")});
  config.format = TextFormat::jsonl;

  EXPECT_THAT(refusal_of(config), HasSubstr("a.jsonl:1: no text under \"text\""));
  config.text_field = "body";
  EXPECT_THAT(documents_of(config), ElementsAre("caf\u00e9\n", "x"));
  config.files = {folder.write("b.jsonl", "{\"body\": \"x\"}\n[1]\n")};
  EXPECT_THAT(refusal_of(config), HasSubstr("b.jsonl:2: not a JSON object"));
}

TEST(Documents, SayHowFarTheyHaveReadInAllFiles) {
  const Folder folder;
  TextDataConfig config =
      jsonl_or_text({folder.write("a.txt", "one\ntwo\n"), folder.write("b.txt", "three")});
  config.document = DocumentUnit::line;
  std::vector<std::uint64_t> read;

  for_each_document(config, [&](const Document& document) { read.push_back(document.bytes_read); });

  EXPECT_THAT(read, ElementsAre(3, 7, 8 + 5));
}

TEST(Documents, SayHowManyRowsOfAllFilesHaveNoText) {
  const Folder folder;
  const TextDataConfig config =
      jsonl_or_text({folder.write("a.jsonl", "{\"text\": \"one\"}\n{\"text\": null}\n"),
                     folder.write("b.jsonl", "{\"text\": \"\"}\n{\"text\": \"two\"}\n"),
                     folder.write("c.jsonl", "{\"text\": null}\n")});

  testing::internal::CaptureStderr();
  EXPECT_THAT(documents_of(config), ElementsAre("one", "two"));
  const std::string said = testing::internal::GetCapturedStderr();

  EXPECT_THAT(said, HasSubstr(R"(2 of 4 rows have no text under "text" and are left out)"));
  EXPECT_THAT(said, HasSubstr("c.jsonl is left out: none of its 1 row has a text"));
}

TEST(Documents, OfRowsNameTheKeysThatARowHasAndPassOverNulls) {
  const Folder folder;
  TextDataConfig config = jsonl_or_text(
      {folder.write("a.jsonl", "{\"text\": null}\n{\"text\": \"x\"}\n{\"body\": 1, \"n\": 2}\n")});
  EXPECT_THAT(refusal_of(config),
              HasSubstr("a.jsonl:3: no text under \"text\"; name the key with data.text_field "
                        "(the row has \"body\", \"n\")"));
  config.files = {folder.write("b.jsonl", "{\"text\": null}\n{\"text\": \"x\"}\n")};
  EXPECT_THAT(documents_of(config), ElementsAre("x"));
  // The format as asked for: braces and all.
  config.format = TextFormat::text;
  config.document = DocumentUnit::line;
  EXPECT_THAT(documents_of(config), ElementsAre("{\"text\": null}", "{\"text\": \"x\"}"));
}

}  // namespace
}  // namespace d9d
