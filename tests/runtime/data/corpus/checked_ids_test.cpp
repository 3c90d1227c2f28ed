#include "runtime/data/corpus/checked_ids.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/data/corpus/memory_corpus.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

TEST(CheckedIds, AreNamedByTheRowOfTheirDocument) {
  MemoryCorpus corpus(100);
  corpus.add_document(std::vector<std::int32_t>{1, 2});
  corpus.add_document(std::vector<std::int32_t>{});
  corpus.add_document(std::vector<std::int32_t>{3, 70});
  for (const std::uint64_t line : {4U, 5U, 9U}) corpus.add_place({"a.jsonl", line, true});
  std::vector<std::int64_t> ids(3);
  corpus.read(1, ids);

  require_ids(corpus, 1, ids, 71, "here");
  EXPECT_THAT(test::error_of([&] { require_ids(corpus, 1, ids, 70, "here"); }, ErrorKind::input),
              HasSubstr("a.jsonl:9: token 1 is 70, but model_provider.model.vocab_size is 70; raise it"));
  ids[0] = -2;
  EXPECT_THAT(test::error_of([&] { require_ids(corpus, 1, ids, {}, "here"); }, ErrorKind::input),
              HasSubstr("a.jsonl:4: token 1 is -2, expected 0 or more"));
}

TEST(CheckedIds, OfNoKnownRowAreNamedByTheirPlaceAmongAll) {
  MemoryCorpus corpus(100);
  corpus.add_document(std::vector<std::int32_t>{1, 2});
  EXPECT_EQ(place_of_token(corpus, 1, "tokens.bin"), "tokens.bin: token 1");
}

}  // namespace
}  // namespace d9d
