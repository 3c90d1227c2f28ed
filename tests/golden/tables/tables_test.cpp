#include "runtime/data/table/tables.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/data/source/text/records.hpp"
#include "runtime/data/source/token_lists_source.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using Json = nlohmann::json;

const std::string tables = D9D_SOURCE_DIR "/tests/golden/tables/";

Json expected_rows(const std::string& name) {
  return Json::parse(std::ifstream(tables + "expect.json")).at(name);
}

Json rows_in(const std::string& name, RowFormat format) {
  Json rows = Json::array();
  for_each_record({tables + name}, format, {}, [&](const Record& row) { rows.push_back(Json(row.columns)); });
  return rows;
}

TEST(GoldenTables, OfParquetHaveTheRowsOfPyarrowInEveryCompression) {
  const Json rows = expected_rows("rows");
  for (const char* name : {"none", "snappy", "gzip", "zstd", "lz4", "brotli", "version1"}) {
    EXPECT_EQ(rows_in(std::string(name) + ".parquet", RowFormat::parquet), rows) << name;
  }
}

TEST(GoldenTables, OfSavedDatasetsHaveTheirRowsInTheirOrder) {
  for (const char* name : {"train", "selected"}) {
    EXPECT_EQ(rows_in(std::string("saved/") + name, RowFormat::arrow), expected_rows(name)) << name;
  }
  EXPECT_THAT(test::error_of([] { rows_in("saved/splits", RowFormat::arrow); }, ErrorKind::input),
              testing::HasSubstr("has several splits; name one of"));
}

TEST(GoldenTables, AreRowsOfTokenIds) {
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> labels;
  for (const Json& row : expected_rows("rows")) {
    for (const Json& id : row.at("input_ids")) ids.push_back(id);
    for (const Json& label : row.at("labels")) labels.push_back(label);
  }
  TokenListsDataConfig config;
  config.sequence_length = 5;
  for (const auto& [file, format] :
       {std::pair{"saved/train", RowFormat::arrow}, {"zstd.parquet", RowFormat::parquet}}) {
    for (const bool labelled : {false, true}) {
      config.files = {tables + file};
      config.format = format;
      config.labels_field = labelled ? std::optional<std::string>("labels") : std::nullopt;
      const TokenListsSource source(config, 90);
      ASSERT_EQ(source.num_samples(), (ids.size() - 1) / 5) << file;
      for (std::size_t i = 0; i < *source.num_samples(); ++i) {
        const auto at = static_cast<std::ptrdiff_t>(5 * i);
        const auto& counted = labelled ? labels : ids;
        EXPECT_EQ(source.at(i).input_ids, std::vector(ids.begin() + at, ids.begin() + at + 5)) << file;
        EXPECT_EQ(source.at(i).labels, std::vector(counted.begin() + at + 1, counted.begin() + at + 6))
            << file;
      }
    }
  }
}

}  // namespace
}  // namespace d9d
