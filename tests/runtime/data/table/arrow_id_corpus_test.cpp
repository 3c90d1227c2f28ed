#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/data/table/tables.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/runtime/data/table/arrow_files.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ArrowIdCorpus : public testing::Test {
 protected:
  std::string write(const std::string& name,
                    const std::vector<std::vector<std::vector<std::int64_t>>>& batches,
                    test::Layout layout = test::Layout::stream) const {
    test::Batches written;
    for (const auto& rows : batches) {
      written.push_back(test::batch_of({{"input_ids", test::ids_column(rows)}}));
    }
    return test::write_arrow(folder_.path(name), written, layout);
  }
  static std::vector<std::int64_t> all_of(const TokenCorpus& corpus) {
    std::vector<std::int64_t> ids(corpus.num_tokens());
    corpus.read(0, ids);
    return ids;
  }

  const Folder folder_;
};

TEST_F(ArrowIdCorpus, IsOneRowOfTheListsOfAllFilesAndBatches) {
  const auto corpus = map_arrow_ids({write("a.arrow", {{{1, 2, 3}, {}, {4}}, {{}}, {{5, 6}}}),
                                     write("b.arrow", {{{7}, {8, 9}}}, test::Layout::file)},
                                    "input_ids", 10);

  EXPECT_THAT(all_of(*corpus), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
  std::vector<std::uint64_t> begins;
  for (std::uint64_t i = 0; i <= corpus->num_documents(); ++i) begins.push_back(corpus->begin_of(i));
  EXPECT_THAT(begins, ElementsAre(0, 3, 3, 4, 6, 7, 9));
  std::vector<std::int64_t> middle(5);
  corpus->read(2, middle);
  EXPECT_THAT(middle, ElementsAre(3, 4, 5, 6, 7));
  EXPECT_TRUE(corpus->has_unchecked_ids());
}

TEST_F(ArrowIdCorpus, RefusesIdsThatTheModelLacksWhenTheyAreRead) {
  const auto corpus = map_arrow_ids({write("a.arrow", {{{1, 2}}, {{3, 700}}, {{-1}}})}, "input_ids", 512);
  std::vector<std::int64_t> two(2);
  corpus->read(0, two);
  EXPECT_THAT(test::error_of([&] { corpus->read(2, two); }, ErrorKind::input),
              HasSubstr("a.arrow, row 1: token 1 is 700, but model_provider.model.vocab_size is 512"));
  EXPECT_THAT(test::error_of([&] { corpus->read(4, std::span(two).first(1)); }, ErrorKind::input),
              HasSubstr("a.arrow, row 2: token 0 is -1, expected 0 or more"));
}

TEST_F(ArrowIdCorpus, KnowsTheRowsOfItsDocuments) {
  const auto corpus = map_arrow_ids(
      {write("a.arrow", {{{1, 2}, {}}, {{}}, {{3}, {4}}}), write("b.arrow", {{{5}}})}, "input_ids", 10);
  std::vector<std::string> rows;
  for (std::uint64_t i = 0; i < corpus->num_documents(); ++i) rows.push_back(text_of(*corpus->place_of(i)));
  EXPECT_THAT(rows, ElementsAre(folder_.path("a.arrow") + ", row 0", folder_.path("a.arrow") + ", row 1",
                                folder_.path("a.arrow") + ", row 3", folder_.path("a.arrow") + ", row 4",
                                folder_.path("b.arrow") + ", row 0"));
}

// What `datasets` makes of `attention_mask` as a list of bool.
TEST_F(ArrowIdCorpus, TakesMasksOfBooleansAndOfBytes) {
  const auto flags = [](const std::vector<std::vector<std::int64_t>>& rows) {
    return test::ids_column<arrow::BooleanBuilder>(rows);
  };
  const auto bytes = [](const std::vector<std::vector<std::int64_t>>& rows) {
    return test::ids_column<arrow::UInt8Builder>(rows);
  };
  const auto map = [&](const test::Column& mask, test::Layout layout) {
    const auto batch =
        test::batch_of({{"input_ids", test::ids_column({{1, 2, 3}, {4, 5}, {6}})}, {"attention_mask", mask}});
    return map_arrow_ids({test::write_arrow(folder_.path("m.arrow"), {batch->Slice(1)}, layout)}, "input_ids",
                         10, "attention_mask");
  };
  for (const auto layout : {test::Layout::stream, test::Layout::compressed_stream}) {
    const auto whole = map(flags({{0, 0, 0}, {1, 1}, {1}}), layout);
    ASSERT_NE(whole, nullptr);
    EXPECT_THAT(all_of(*whole), ElementsAre(4, 5, 6));
    EXPECT_EQ(map(flags({{1, 1, 1}, {1, 0}, {1}}), layout), nullptr) << "padded, so not mapped";
    EXPECT_NE(map(bytes({{0, 0, 0}, {1, 1}, {1}}), layout), nullptr);
    EXPECT_EQ(map(bytes({{1, 1, 1}, {1, 0}, {1}}), layout), nullptr);
  }
}

TEST_F(ArrowIdCorpus, KeepsWhatACompressedFileHolds) {
  std::vector<std::int64_t> many(5000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<std::int64_t>(i % 7);
  const auto corpus =
      map_arrow_ids({write("a.arrow", {{many}, {many}}, test::Layout::compressed_stream)}, "input_ids", {});
  auto twice = many;
  twice.insert(twice.end(), many.begin(), many.end());
  EXPECT_EQ(all_of(*corpus), twice);
}

}  // namespace
}  // namespace d9d
