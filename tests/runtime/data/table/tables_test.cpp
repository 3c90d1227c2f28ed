#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/data/table/table_readers.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

// No library lies beside a test's program.
TEST(Tables, AreRefusedWithWhatToDoWithoutTheLibraryThatReadsThem) {
  const TableReaders* const before = set_table_readers(nullptr);
  const auto refused = testing::HasSubstr("a.parquet: this build has no Arrow library");
  const std::string file = "a.parquet";
  const auto refusal_of = [](const auto& reads) { return test::error_of(reads, ErrorKind::input); };
  EXPECT_THAT(refusal_of([&] { for_each_table_text(file, TableFormat::parquet, "text", {}); }), refused);
  EXPECT_THAT(refusal_of([&] { for_each_table_record(file, TableFormat::parquet, {}, {}); }), refused);
  EXPECT_THAT(refusal_of([&] { for_each_table_ids(file, TableFormat::parquet, {"ids", {}}, {}); }), refused);
  EXPECT_THAT(refusal_of([&] { map_arrow_ids({file}, "ids", {}); }), refused);
  EXPECT_THAT(refusal_of([&] { outline_of_table(file, TableFormat::parquet); }), refused);
  set_table_readers(before);
}

}  // namespace
}  // namespace d9d
