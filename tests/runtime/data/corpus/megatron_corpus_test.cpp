#include "runtime/data/corpus/megatron_corpus.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;
using Documents = std::vector<std::vector<std::int64_t>>;

const std::string golden = D9D_SOURCE_DIR "/tests/golden/megatron/";

Documents expected() {
  std::ifstream file(golden + "expect.json");
  return nlohmann::json::parse(file).at("documents").get<Documents>();
}

Documents documents_of(const TokenCorpus& corpus) {
  Documents documents;
  for (std::uint64_t i = 0; i < corpus.num_documents(); ++i) {
    const std::uint64_t begin = corpus.begin_of(i);
    documents.emplace_back(corpus.begin_of(i + 1) - begin);
    corpus.read(begin, documents.back());
  }
  return documents;
}

TEST(MegatronCorpus, HasTheDocumentsOfBothLayoutsAndAllDtypes) {
  for (const char* name :
       {"uint8", "int16", "int32", "int64", "uint16", "pieces", "older_int32", "older_uint16"}) {
    EXPECT_EQ(documents_of(MegatronCorpus(golden + name)), expected()) << name;
  }
  EXPECT_EQ(MegatronCorpus(golden + "uint16").type(), NpyType::uint16);
  EXPECT_EQ(MegatronCorpus(golden + "older_int32").type(), NpyType::int32);
}

TEST(MegatronCorpus, RefusesIdsThatTheModelDoesNotHaveWhenTheyAreRead) {
  const MegatronCorpus corpus(golden + "int32", 9);
  std::vector<std::int64_t> ids(7);

  corpus.read(0, ids);
  EXPECT_THAT(test::error_of([&] { corpus.read(1, ids); }, ErrorKind::input),
              HasSubstr("int32.bin, row 3: token 0 is 9, but model_provider.model.vocab_size is 9"));
}

TEST(MegatronCorpus, RefusesNumbersThatAreNoIds) {
  EXPECT_THAT(test::error_of([] { MegatronCorpus(golden + "float32"); }, ErrorKind::input),
              HasSubstr("float32.idx: dtype code 7, expected one of the integers"));
  EXPECT_THAT(test::error_of([] { MegatronCorpus("missing"); }, ErrorKind::input),
              HasSubstr("cannot open missing.bin"));
}

}  // namespace
}  // namespace d9d
