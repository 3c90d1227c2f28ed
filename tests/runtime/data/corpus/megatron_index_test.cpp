#include "runtime/data/corpus/megatron_index.hpp"

#include <gmock/gmock.h>

#include <cstring>
#include <iterator>

#include "runtime/base/error.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/file_text.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

// Of 13 tokens of int32, in 5 documents.
constexpr std::uint64_t token_bytes = 13 * 4;
// Bytes of the mapped layout.
constexpr std::size_t version_at = 9, dtype_at = 17, pieces_at = 18, offsets_at = 34 + 5 * 4,
                      boundaries_at = offsets_at + 5 * 8;

class MegatronIndexTest : public testing::Test {
 protected:
  static std::string bytes_of_file(const std::string& name) {
    return test::text_of_file(D9D_SOURCE_DIR "/tests/golden/megatron/" + name + ".idx");
  }
  static std::string with(std::string bytes, std::size_t at, std::uint64_t word, std::size_t size = 8) {
    std::memcpy(bytes.data() + at, &word, size);
    return bytes;
  }
  std::string refusal(const std::string& bytes, std::uint64_t tokens = token_bytes) {
    const std::string path = folder_.write("t.idx", bytes);
    return test::error_of([&] { MegatronIndex(path, tokens); }, ErrorKind::input);
  }

  const Folder folder_;
  const std::string mapped_ = bytes_of_file("int32");
  const std::string older_ = bytes_of_file("older_int32");
};

TEST_F(MegatronIndexTest, RefusesWhatIsNoIndex) {
  EXPECT_THAT(refusal("something else"), HasSubstr("t.idx: not an index of Megatron's datasets"));
  EXPECT_THAT(refusal(with(mapped_, version_at, 2)), HasSubstr("version 2 of the format, expected 1"));
  EXPECT_THAT(refusal(with(mapped_, dtype_at, 9, 1)), HasSubstr("dtype code 9"));
  EXPECT_THAT(refusal(with(mapped_, pieces_at, UINT64_MAX)), HasSubstr("the header is damaged"));
  EXPECT_THAT(refusal(with(older_, 24, 2)), HasSubstr("2 bytes a token, but its dtype int32 has 4"));
}

TEST_F(MegatronIndexTest, RefusesEveryFileThatIsCutShort) {
  for (const std::string* whole : {&mapped_, &older_}) {
    EXPECT_EQ(refusal(*whole), "no error");
    for (std::size_t size = 0; size < whole->size(); ++size) {
      ASSERT_NE(refusal(whole->substr(0, size)), "no error") << size;
    }
  }
}

TEST_F(MegatronIndexTest, RefusesTablesThatContradictEachOther) {
  EXPECT_THAT(refusal(mapped_, token_bytes - 2), HasSubstr("but that has 50 bytes"));
  EXPECT_THAT(refusal(older_, token_bytes + 4),
              HasSubstr("it belongs to a .bin file of 13 tokens of 4 bytes"));
  EXPECT_THAT(refusal(with(mapped_, offsets_at + 8, 4000)), HasSubstr("piece 1 begins at token 1000"));
  EXPECT_THAT(refusal(with(mapped_, offsets_at + 3 * 8, 4)), HasSubstr("pieces out of their order"));
  EXPECT_THAT(refusal(with(mapped_, boundaries_at + 8, 6)), HasSubstr("document 1 begins with piece 6 of 5"));
  EXPECT_THAT(refusal(with(mapped_, boundaries_at + 5 * 8, 4)),
              HasSubstr("its documents end with piece 4 of 5"));
  EXPECT_THAT(refusal(with(mapped_, boundaries_at, 1)), HasSubstr("it has no documents"));
}

// The sizes of pieces are 32 bits each, before the offsets.
TEST_F(MegatronIndexTest, RefusesSizesAndOffsetsThatContradictEachOther) {
  const std::size_t sizes_at = offsets_at - 5 * 4;
  EXPECT_THAT(refusal(with(mapped_, sizes_at + 4, 0xffffffff, 4)),
              HasSubstr("piece 1 has -1 tokens by its size"));
  EXPECT_THAT(refusal(with(mapped_, sizes_at, 0x7fffffff, 4)),
              HasSubstr("piece 0 has 2147483647 tokens by its size"));
  std::uint64_t offset = 0;
  std::memcpy(&offset, mapped_.data() + offsets_at + 8, 8);
  EXPECT_THAT(refusal(with(mapped_, offsets_at + 8, offset + 2)),
              HasSubstr(fmt::format("piece 1 begins at byte {}, within a token of 4 bytes", offset + 2)));
  std::uint64_t size = 0;
  const std::size_t older_sizes_at = 8 + 48 - 8 + 8 + 2 * 8 * 6;
  std::memcpy(&size, older_.data() + older_sizes_at, 8);
  EXPECT_THAT(refusal(with(older_, older_sizes_at, size + 1)), HasSubstr("tokens by its size and"));
}

TEST_F(MegatronIndexTest, TakesTheModesOfMultimodalSets) {
  EXPECT_EQ(refusal(mapped_ + std::string(5, '\0')), "no error");
  EXPECT_THAT(refusal(mapped_ + std::string(4, '\0')), HasSubstr("cut short or damaged"));
}

}  // namespace
}  // namespace d9d
