#include "runtime/data/table/arrow_batches.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/data/folder.hpp"
#include "tests/runtime/data/table/arrow_files.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

test::Batches two_batches() {
  return {test::batch_of({{"a", test::text_column({"x", "y"})}, {"b", test::ids_column({{1}, {2, 3}})}}),
          test::batch_of({{"a", test::text_column({"z"})}, {"b", test::ids_column({{4}})}})};
}

// First rows, and how many.
std::vector<std::pair<std::uint64_t, std::int64_t>> batches_in(const std::string& file, TableFormat format) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> out;
  for_each_batch(file, format, {"b"}, [&](const auto& batch, std::uint64_t first) {
    EXPECT_EQ(batch->num_columns(), 1);
    EXPECT_EQ(batch->column_name(0), "b");
    out.emplace_back(first, batch->num_rows());
  });
  return out;
}

TEST(ArrowBatches, OfBothLayoutsAndOfRowGroupsComeInOrder) {
  const Folder folder;
  const auto batches = two_batches();
  const std::string stream = test::write_arrow(folder.path("s.arrow"), batches);
  const std::string file = test::write_arrow(folder.path("f.arrow"), batches, test::Layout::file);
  const std::string parquet = test::write_parquet(folder.path("p.parquet"), batches, 1);

  EXPECT_THAT(batches_in(stream, TableFormat::arrow), ElementsAre(Pair(0, 2), Pair(2, 1)));
  EXPECT_THAT(batches_in(file, TableFormat::arrow), ElementsAre(Pair(0, 2), Pair(2, 1)));
  EXPECT_THAT(batches_in(parquet, TableFormat::parquet), ElementsAre(Pair(0, 1), Pair(1, 1), Pair(2, 1)));
  EXPECT_EQ(schema_of_table(stream, TableFormat::arrow).rows, 3U);
  EXPECT_EQ(schema_of_table(parquet, TableFormat::parquet).pieces, 3U);
}

TEST(ArrowBatches, RefuseFilesThatAreMissingDamagedOrOfAnotherFormat) {
  const Folder folder;
  const std::string stream = test::write_arrow(folder.path("s.arrow"), two_batches());
  const std::string parquet = test::write_parquet(folder.path("p.parquet"), two_batches(), 2);
  const auto refusal_of = [](const std::string& file, TableFormat format) {
    return test::error_of([&] { batches_in(file, format); }, ErrorKind::input);
  };

  EXPECT_THAT(refusal_of(folder.path("absent.arrow"), TableFormat::arrow), HasSubstr("absent.arrow: "));
  EXPECT_THAT(
      refusal_of(stream, TableFormat::parquet),
      AllOf(HasSubstr("s.arrow: Parquet magic bytes not found"), HasSubstr("does pyarrow read this file?")));
  EXPECT_THAT(refusal_of(parquet, TableFormat::arrow), HasSubstr("p.parquet: "));
  std::filesystem::resize_file(stream, std::filesystem::file_size(stream) / 2);
  EXPECT_THAT(refusal_of(stream, TableFormat::arrow), HasSubstr("s.arrow: "));
  std::filesystem::resize_file(stream, 3);
  EXPECT_THAT(refusal_of(stream, TableFormat::arrow), HasSubstr("s.arrow: "));
}

TEST(ArrowBatches, NameTheColumnsThatThereAre) {
  const auto schema = two_batches().front()->schema();
  EXPECT_EQ(column_of(*schema, "a", "f.arrow", "data.text_field").name(), "a");
  EXPECT_THAT(
      test::error_of([&] { column_of(*schema, "text", "f.arrow", "data.text_field"); }, ErrorKind::input),
      HasSubstr("f.arrow: no column \"text\"; name one of a, b with data.text_field"));
}

}  // namespace
}  // namespace d9d
