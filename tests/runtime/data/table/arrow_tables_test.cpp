#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/data/source/text/documents.hpp"
#include "runtime/data/table/tables.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/runtime/data/table/arrow_files.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class ArrowTables : public testing::Test {
 protected:
  std::string arrow() const { return test::write_arrow(folder_.path("t.arrow"), {batch_}); }
  std::string parquet() const { return test::write_parquet(folder_.path("t.parquet"), {batch_}, 2); }

  const Folder folder_;
  const std::shared_ptr<arrow::RecordBatch> batch_ =
      test::batch_of({{"text", test::text_column({"one", std::nullopt, "caf\u00e9"})},
                      {"input_ids", test::ids_column({{1, 2}, {}, {3}})},
                      {"labels", test::ids_column<arrow::Int64Builder>({{-100, 2}, {}, {3}})}});
};

TEST_F(ArrowTables, GiveTextsWithTheirPlaces) {
  const auto texts_of = [](const std::string& file, TableFormat format) {
    std::vector<std::pair<std::string, std::uint64_t>> out;
    for_each_table_text(file, format, "text", [&](std::string_view text, const TableRow& row) {
      out.emplace_back(text, row.number);
      EXPECT_NEAR(row.read, static_cast<double>(row.number + 1) / 3, 1e-12);
    });
    return out;
  };
  EXPECT_THAT(texts_of(arrow(), TableFormat::arrow),
              ElementsAre(Pair("one", 0), Pair("", 1), Pair("caf\u00e9", 2)));
  EXPECT_EQ(texts_of(parquet(), TableFormat::parquet), texts_of(arrow(), TableFormat::arrow));
  EXPECT_THAT(test::error_of(
                  [&] {
                    for_each_table_text(arrow(), TableFormat::arrow, "labels",
                                        [](std::string_view, const TableRow&) {});
                  },
                  ErrorKind::input),
              HasSubstr("the column \"labels\" is of the type list<item: int64>, expected texts"));
}

TEST_F(ArrowTables, GiveIdsWithLabels) {
  for (const TableFormat format : {TableFormat::arrow, TableFormat::parquet}) {
    std::vector<std::vector<std::int64_t>> ids;
    std::vector<std::vector<std::int64_t>> labels;
    for_each_table_ids(format == TableFormat::arrow ? arrow() : parquet(), format, {"input_ids", "labels"},
                       [&](const TableIds& row, const TableRow&) {
                         ids.emplace_back(row.ids.begin(), row.ids.end());
                         labels.emplace_back(row.labels.begin(), row.labels.end());
                       });
    EXPECT_THAT(ids, ElementsAre(ElementsAre(1, 2), ElementsAre(), ElementsAre(3)));
    EXPECT_THAT(labels, ElementsAre(ElementsAre(-100, 2), ElementsAre(), ElementsAre(3)));
  }
}

TEST_F(ArrowTables, GiveMasksOfBooleansAndOfBytes) {
  const auto masks_of = [&](const test::Column& mask) {
    const auto batch = test::batch_of({{"input_ids", test::ids_column({{1, 2}, {}, {3}})}, {"mask", mask}});
    const std::string file = test::write_parquet(folder_.path("m.parquet"), {batch}, 2);
    std::vector<std::vector<std::int64_t>> masks;
    for_each_table_ids(file, TableFormat::parquet, {"input_ids", std::nullopt, "mask"},
                       [&](const TableIds& row, const TableRow&) {
                         masks.emplace_back(row.mask->begin(), row.mask->end());
                       });
    return masks;
  };
  const std::vector<std::vector<std::int64_t>> rows{{0, 1}, {}, {1}};
  EXPECT_EQ(masks_of(test::ids_column<arrow::BooleanBuilder>(rows)), rows);
  EXPECT_EQ(masks_of(test::ids_column<arrow::UInt8Builder>(rows)), rows);
  EXPECT_THAT(
      test::error_of([&] { masks_of(test::ids_column<arrow::DoubleBuilder>(rows)); }, ErrorKind::input),
      HasSubstr(
          "column \"mask\" (data.mask_field; null: none): lists of the type double, expected integers or "
          "booleans"));
}

TEST_F(ArrowTables, GiveTheNamedColumnsThatTheyHave) {
  std::vector<std::string> records;
  for_each_table_record(
      parquet(), TableFormat::parquet, {"labels", "absent"},
      [&](const nlohmann::json& record, const TableRow&) { records.push_back(record.dump()); });
  EXPECT_THAT(records, ElementsAre(R"({"labels":[-100,2]})", R"({"labels":[]})", R"({"labels":[3]})"));
  EXPECT_THAT(test::error_of(
                  [&] {
                    for_each_table_record(parquet(), TableFormat::parquet, {"messages"},
                                          [](const nlohmann::json&, const TableRow&) {});
                  },
                  ErrorKind::input),
              HasSubstr("no column \"messages\"; name one of text, input_ids, labels"));
}

TEST_F(ArrowTables, HaveAnOutline) {
  EXPECT_THAT(columns_of_table(arrow(), TableFormat::arrow), ElementsAre("text", "input_ids", "labels"));
  const TableOutline outline = outline_of_table(parquet(), TableFormat::parquet);
  EXPECT_EQ(outline.rows, 3U);
  EXPECT_EQ(outline.pieces, 2U);
  EXPECT_THAT(outline.columns.front(), Pair("text", "string"));
}

TEST_F(ArrowTables, AreDocumentsOfASourceOfText) {
  TextDataConfig config;
  config.files = {parquet(), parquet()};
  config.format = TextFormat::parquet;
  std::vector<std::string> texts;
  std::vector<std::string> places;
  std::uint64_t read = 0;
  for_each_document(config, [&](const Document& document) {
    texts.emplace_back(document.text);
    places.push_back(document.where());
    EXPECT_GT(document.bytes_read, read);
    read = document.bytes_read;
  });
  EXPECT_THAT(texts, ElementsAre("one", "caf\u00e9", "one", "caf\u00e9"));
  EXPECT_EQ(places[1], config.files[0] + ", row 2");
  EXPECT_EQ(read, 2 * std::filesystem::file_size(config.files[0]));
}

}  // namespace
}  // namespace d9d
