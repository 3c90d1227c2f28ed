#include "runtime/data/corpus/counted_files.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/data/corpus/megatron_writer.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

TEST(CountedFiles, SayOfEachTokenWhetherItCounts) {
  const Folder folder;
  const std::string prefix = folder.path("tokens");
  const std::vector<std::vector<bool>> documents{
      {true, false, true}, {false, false, true, true, true, false, true}, {true}};
  MegatronWriter tokens(prefix, 100);
  CountedWriter counted(prefix);
  std::vector<bool> all;
  for (const std::vector<bool>& document : documents) {
    tokens.add_document(std::vector<std::int32_t>(document.size(), 7));
    counted.add(document);
    all.insert(all.end(), document.begin(), document.end());
  }
  tokens.finish();
  counted.finish();

  const auto corpus = open_counted_files(prefix, {});

  ASSERT_EQ(corpus->num_tokens(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(corpus->counts(i), all[i]) << i;
  EXPECT_EQ(corpus->num_documents(), 3U);
  folder.write("tokens.counted", "a");
  EXPECT_THAT(test::error_of([&] { open_counted_files(prefix, {}); }, ErrorKind::input),
              testing::HasSubstr("tokens.counted: 1 bytes, expected 2 for 11 tokens"));
  std::filesystem::remove(folder.path("tokens.counted"));
  EXPECT_TRUE(open_counted_files(prefix, {})->counts(1)) << "without the file all count";
}

}  // namespace
}  // namespace d9d
