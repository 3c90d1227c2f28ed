#include "runtime/data/corpus/chosen_documents.hpp"

#include <gmock/gmock.h>

#include "runtime/data/corpus/counted_corpus.hpp"

namespace d9d {
namespace {

TEST(ChosenDocuments, AreTheDocumentsWithWhatCounts) {
  auto corpus = std::make_shared<CountedCorpus>(1000);
  std::vector<std::vector<std::int64_t>> documents;
  for (std::int32_t i = 0; i < 40; ++i) {
    std::vector<std::int32_t> ids;
    std::vector<bool> counted;
    for (std::int32_t k = 0; k < i % 4; ++k) {
      ids.push_back(10 * i + k);
      counted.push_back((i + k) % 3 == 0);
    }
    corpus->add_document(ids, counted);
    documents.emplace_back(ids.begin(), ids.end());
  }
  for (const DataSide side : {DataSide::training, DataSide::validation}) {
    RowChoiceConfig config{.validation = Validation{}, .seed = 1};
    config.validation->samples = 15;
    config.validation->side = side;
    const auto chosen = chosen_documents(corpus, config);
    const RowChoice choice(40, config);
    std::vector<std::uint64_t> rows;
    for (std::uint64_t i = 0; i < choice.count(); ++i) rows.push_back(choice.row_at(i));
    ASSERT_EQ(chosen->num_documents(), rows.size());
    std::vector<std::int64_t> all;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto& document = documents[rows[i]];
      std::vector<std::int64_t> read(chosen->begin_of(i + 1) - chosen->begin_of(i));
      chosen->read(chosen->begin_of(i), read);
      EXPECT_EQ(read, document) << i;
      for (std::size_t k = 0; k < read.size(); ++k)
        EXPECT_EQ(chosen->counts(chosen->begin_of(i) + k), (rows[i] + k) % 3 == 0);
      all.insert(all.end(), document.begin(), document.end());
    }
    std::vector<std::int64_t> whole(chosen->num_tokens());
    chosen->read(0, whole);
    EXPECT_EQ(whole, all);
  }
}

}  // namespace
}  // namespace d9d
