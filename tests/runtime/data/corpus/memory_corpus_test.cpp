#include "runtime/data/corpus/memory_corpus.hpp"

#include <gmock/gmock.h>

namespace d9d {
namespace {

using testing::ElementsAre;

TEST(TokenRow, KeepsIdsOfLargeVocabularies) {
  for (const std::int64_t vocab_size : {65536, 65537}) {
    TokenRow row(vocab_size);
    const std::vector<std::int32_t> ids{0, 65535, static_cast<std::int32_t>(vocab_size - 1)};
    row.append(ids);
    std::vector<std::int64_t> out(3);
    row.read(0, out);
    EXPECT_THAT(out, ElementsAre(0, 65535, vocab_size - 1));
  }
}

TEST(MemoryCorpus, KnowsWhereItsDocumentsBegin) {
  MemoryCorpus corpus(100);
  corpus.add_document(std::vector<std::int32_t>{1, 2, 3});
  corpus.add_document(std::vector<std::int32_t>{});
  corpus.add_document(std::vector<std::int32_t>{4});

  EXPECT_EQ(corpus.num_tokens(), 4U);
  ASSERT_EQ(corpus.num_documents(), 3U);
  std::vector<std::uint64_t> begins;
  for (std::uint64_t document = 0; document <= 3; ++document) begins.push_back(corpus.begin_of(document));
  EXPECT_THAT(begins, ElementsAre(0, 3, 3, 4));
}

}  // namespace
}  // namespace d9d
