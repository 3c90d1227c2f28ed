#include "runtime/data/file/text_blocks.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <zlib.h>

#include "runtime/base/error.hpp"
#include "runtime/data/source/text/documents.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

std::string gzipped(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(::deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(::deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

class TextBlocks : public testing::Test {
 protected:
  // Text and place of every document.
  std::vector<std::pair<std::string, std::string>> documents(const std::string& file, DocumentUnit unit) {
    TextDataConfig config;
    config.files = {file};
    config.format = TextFormat::text;
    config.document = unit;
    std::vector<std::pair<std::string, std::string>> out;
    for_each_document(config, [&](const Document& document) {
      const std::string where = document.where();
      out.emplace_back(document.text, where.substr(where.find('.')));
      EXPECT_LE(document.bytes_read, std::filesystem::file_size(file));
    });
    return out;
  }
  std::string refusal(const std::string& bytes) {
    const std::string file = folder_.write("x.txt", bytes);
    return test::error_of([&] { documents(file, DocumentUnit::line); }, ErrorKind::input);
  }
  const Folder folder_;
};

TEST_F(TextBlocks, OfAPackedFileMakeTheDocumentsOfThePlainOne) {
  std::string text;
  for (int i = 0; i < 200'000; ++i)
    text += std::string(static_cast<std::size_t>(i % 37), 'x') + (i % 5 == 0 ? "\r\n" : "\n") +
            (i % 11 == 0 ? "\n" : "");
  const std::string plain = folder_.write("a.txt", text), packed = folder_.write("b.txt", gzipped(text));
  for (const DocumentUnit unit : {DocumentUnit::file, DocumentUnit::line, DocumentUnit::paragraph})
    EXPECT_TRUE(documents(packed, unit) == documents(plain, unit)) << static_cast<int>(unit);
}

// The mark is no part of the text; in the middle of one it is a character.
TEST_F(TextBlocks, AreWithoutAByteOrderMarkAtTheBegin) {
  const std::string mark = "\xEF\xBB\xBF", text = "In the " + mark + "beginning\n\nof all\n";
  const std::string plain = folder_.write("a.txt", text), marked = folder_.write("b.txt", mark + text),
                    packed = folder_.write("c.txt", gzipped(mark + text));
  for (const DocumentUnit unit : {DocumentUnit::file, DocumentUnit::line, DocumentUnit::paragraph}) {
    EXPECT_EQ(documents(marked, unit), documents(plain, unit));
    EXPECT_EQ(documents(packed, unit), documents(plain, unit));
  }
  EXPECT_THAT(documents(folder_.write("d.txt", mark), DocumentUnit::file), testing::IsEmpty());
  EXPECT_THAT(documents(folder_.write("e.txt", gzipped(mark)), DocumentUnit::file), testing::IsEmpty());
}

TEST_F(TextBlocks, OfADamagedFileAreRefused) {
  const std::string good = gzipped(std::string(10'000, 'a') + "\n");
  EXPECT_EQ(refusal(good), "no error");
  EXPECT_EQ(refusal(good + std::string(512, '\0')), "no error");
  EXPECT_THAT(refusal(good.substr(0, good.size() - 9)), HasSubstr("cut short"));
  EXPECT_THAT(refusal(good + "more"), HasSubstr("other bytes after the packed ones"));
  std::string flipped = good;
  flipped[flipped.size() - 6] ^= 1;  // of the checksum
  EXPECT_THAT(refusal(flipped), HasSubstr("x.txt: it begins as a gzip file"));
}

TEST_F(TextBlocks, DoNotGrowBeyondADocumentOfTheirLimit) {
  const std::string file = folder_.write("bomb", gzipped(std::string(8 << 20, ' ')));
  const auto blocks = [&] {
    for_each_block(
        file, whole_lines, [](const TextBlock&) {}, 4 << 20);
  };
  EXPECT_THAT(test::error_of(blocks, ErrorKind::input),
              HasSubstr("a document of more than 4 MB in a packed file"));
}

TEST_F(TextBlocks, ThatAreNoTextSayWhatTheyAre) {
  EXPECT_THAT(refusal("PAR1...."), HasSubstr("a Parquet file (format: parquet)"));
  EXPECT_THAT(refusal(std::string("PK\x03\x04", 4) + "zip"), HasSubstr("a zip archive"));
  EXPECT_THAT(refusal(std::string("n\0o\0 \0m\0a\0r\0k\0\n\0", 16)), HasSubstr("UTF-16"));
  std::string tar(512, '\0');
  tar.replace(0, 5, "a.txt").replace(257, 5, "ustar");
  EXPECT_THAT(refusal(tar), HasSubstr("a tar archive"));
  EXPECT_THAT(refusal(gzipped(tar)), HasSubstr("a tar archive"));
  EXPECT_THAT(refusal("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
              HasSubstr("git lfs pull"));
}

TEST_F(TextBlocks, OfAPipeAreRefusedAtOnce) {
  const std::string pipe = folder_.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(test::error_of([&] { documents(pipe, DocumentUnit::line); }, ErrorKind::input),
              HasSubstr("pipe is a pipe, expected a file"));
}

}  // namespace
}  // namespace d9d
