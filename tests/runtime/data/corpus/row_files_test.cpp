#include "runtime/data/corpus/row_files.hpp"

#include <gmock/gmock.h>

#include <filesystem>

#include "runtime/base/error.hpp"
#include "runtime/data/corpus/megatron_corpus.hpp"
#include "runtime/data/corpus/megatron_writer.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

class RowFiles : public testing::Test {
 protected:
  std::shared_ptr<const TokenCorpus> written(const std::vector<RowPlace>& places,
                                             std::optional<std::int64_t> ids_below = {}) const {
    MegatronWriter tokens(prefix_, 100);
    RowFilesWriter rows(prefix_, {"a", "empty", "b", "a"});
    std::int32_t id = 0;
    for (const RowPlace& place : places) {
      tokens.add_document(std::vector<std::int32_t>{id, id + 1});
      rows.add(place);
      id += 2;
    }
    tokens.finish();
    rows.finish();
    return opened(ids_below);
  }
  std::shared_ptr<const TokenCorpus> opened(std::optional<std::int64_t> ids_below = {}) const {
    return with_rows(std::make_shared<MegatronCorpus>(prefix_), prefix_, {"a2", "empty2", "b2", "again"},
                     ids_below);
  }

  const Folder folder_;
  const std::string prefix_ = folder_.path("tokens");
};

TEST_F(RowFiles, SayTheRowOfEachDocumentUnderTodaysNamesOfFiles) {
  const auto corpus =
      written({{"a", 0}, {"a", 1}, {"a", 5}, {"b", 6, true}, {"b", 7, true}, {"a", 8}, {"a", 9}});

  std::vector<std::string> rows;
  for (std::uint64_t i = 0; i < corpus->num_documents(); ++i) rows.push_back(text_of(*corpus->place_of(i)));
  EXPECT_THAT(rows, testing::ElementsAre("a2, row 0", "a2, row 1", "a2, row 5", "b2:6", "b2:7",
                                         "again, row 8", "again, row 9"));
  EXPECT_EQ(std::filesystem::file_size(prefix_ + ".rows"), 4U * 24U) << "a record for each stretch";
  EXPECT_EQ(corpus->place_of(7), std::nullopt);
}

TEST_F(RowFiles, NameTheRowOfAnIdThatTheModelLacks) {
  const auto corpus = written({{"a", 3}, {"b", 4, true}}, 3);
  std::vector<std::int64_t> ids(4);
  EXPECT_TRUE(corpus->has_unchecked_ids());
  EXPECT_THAT(test::error_of([&] { corpus->read(0, ids); }, ErrorKind::input),
              HasSubstr("b2:4: token 1 is 3, but model_provider.model.vocab_size is 3"));
}

TEST_F(RowFiles, OfAnOlderFolderAreNotKnown) {
  written({{"a", 3}});
  std::filesystem::remove(prefix_ + ".rows");
  EXPECT_EQ(opened()->place_of(0), std::nullopt);
}

TEST_F(RowFiles, ThatAreDamagedAreRefused) {
  written({{"a", 3}, {"b", 4}});
  std::filesystem::resize_file(prefix_ + ".rows", 30);
  EXPECT_THAT(test::error_of([&] { opened(); }, ErrorKind::input), HasSubstr("tokens.rows: 30 bytes"));
}

}  // namespace
}  // namespace d9d
