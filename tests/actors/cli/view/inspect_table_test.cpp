#include "actors/cli/view/inspect_table.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

TEST(InspectTable, KnowsTablesByTheirEndings) {
  const std::string tables = D9D_SOURCE_DIR "/tests/golden/tables";
  EXPECT_EQ(table_format_of_name("absent.parquet"), TableFormat::parquet);
  EXPECT_EQ(table_format_of_name(tables + "/saved/train"), TableFormat::arrow);
  EXPECT_EQ(table_format_of_name(tables + "/saved/splits"), TableFormat::arrow);
  EXPECT_EQ(table_format_of_name(tables), TableFormat::parquet);
  EXPECT_EQ(table_format_of_name("corpus_text_document"), std::nullopt);
  EXPECT_THAT(test::error_of([&] { table_format_of_name(D9D_SOURCE_DIR "/tests/golden/megatron"); },
                             ErrorKind::input),
              testing::HasSubstr("has no file that ends in .parquet, .arrow, .csv or .tsv"));
}

}  // namespace
}  // namespace d9d
