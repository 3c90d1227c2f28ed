#include "runtime/data/corpus/megatron_writer.hpp"

#include <gmock/gmock.h>

#include <iterator>

#include "runtime/base/error.hpp"
#include "runtime/data/corpus/megatron_corpus.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/file_text.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

// One that has no empty document, which a writer leaves out.
TEST(MegatronWriter, WritesTheBytesThatMegatronWrites) {
  const std::string golden = D9D_SOURCE_DIR "/tests/golden/megatron/filled";
  const Folder folder;
  for (const auto& [name, vocab_size] : {std::pair{"_uint16", 65536}, {"_int32", 65537}}) {
    const std::string prefix = folder.path("t");
    MegatronWriter writer(prefix, vocab_size);
    writer.add_document(std::vector<std::int32_t>{5, 6, 7, 8, 0});
    writer.add_document(std::vector<std::int32_t>{});
    writer.add_document(std::vector<std::int32_t>{1, 65535});
    writer.finish();

    EXPECT_EQ(test::text_of_file(prefix + ".bin"), test::text_of_file(golden + name + ".bin")) << name;
    EXPECT_EQ(test::text_of_file(prefix + ".idx"), test::text_of_file(golden + name + ".idx")) << name;
    EXPECT_EQ(writer.num_documents(), 2U);
    EXPECT_EQ(writer.num_tokens(), 7U);
  }
}

TEST(MegatronWriter, SaysWhereItCannotWrite) {
  EXPECT_THAT(test::error_of([] { MegatronWriter("/nowhere/t", 10); }, ErrorKind::environment),
              HasSubstr("cannot write /nowhere/t.bin: No such file"));
}

}  // namespace
}  // namespace d9d
