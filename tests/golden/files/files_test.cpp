#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/data/file/name_pattern.hpp"
#include "runtime/data/source/text/documents.hpp"
#include "runtime/data/source/text/records.hpp"
#include "runtime/data/source/token_lists_source.hpp"
#include "runtime/data/table/tables.hpp"
#include "tests/runtime/data/folder.hpp"

namespace d9d {
namespace {

using Json = nlohmann::json;

const std::string files = D9D_SOURCE_DIR "/tests/golden/files/";

Json expected(const std::string& name) {
  return Json::parse(std::ifstream(files + "expect.json")).at(name);
}

Json rows_in(const std::string& name) {
  Json rows = Json::array();
  for_each_record({files + name}, std::nullopt, {},
                  [&](const Record& row) { rows.push_back(Json(row.columns)); });
  return rows;
}

Json texts_in(const std::string& name, const std::string& field) {
  TextDataConfig config;
  config.files = {files + name};
  config.text_field = field;
  Json texts = Json::array();
  for_each_document(config, [&](const Document& document) { texts.push_back(document.text); });
  return texts;
}

Json without_empty(const Json& texts) {
  Json out = Json::array();
  for (const Json& text : texts) {
    if (!text.is_null() && text != "") out.push_back(text);
  }
  return out;
}

TEST(GoldenFiles, PackedInAnyWayHaveTheRowsThatWerePacked) {
  for (const char* name :
       {"rows.jsonl.gz", "rows.jsonl.bz2", "rows.jsonl.xz", "rows.jsonl.zst", "rows_unnamed.jsonl"})
    EXPECT_EQ(rows_in(name), expected("rows")) << name;
}

TEST(GoldenFiles, OfOneArrayHaveItsElements) {
  for (const char* name : {"array.json", "array_line.json", "array_packed.json.gz", "lines.json"})
    EXPECT_EQ(rows_in(name), expected("rows")) << name;
}

TEST(GoldenFiles, PartedByCommasOrTabsHaveTheRowsOfPythonsCsv) {
  for (const char* name : {"rows.csv", "rows.csv.gz", "rows.tsv"})
    EXPECT_EQ(rows_in(name), expected("rows")) << name;
}

TEST(GoldenFiles, AreDocumentsOfTextWithoutASayingOfTheirFormat) {
  Json texts = Json::array();
  for (const Json& row : expected("rows")) texts.push_back(row.at("text"));
  for (const char* name : {"rows.csv", "rows.jsonl.zst", "array.json", "rows.tsv"})
    EXPECT_EQ(texts_in(name, "text"), without_empty(texts)) << name;
}

TEST(GoldenFiles, HaveNothingBehindANullList) {
  const Json lists = expected("lists");
  for (const auto& [name, rows] : lists.items()) {
    std::vector<std::vector<std::int64_t>> read;
    for_each_table_ids(files + name + ".arrow", TableFormat::arrow, {"input_ids", std::nullopt, std::nullopt},
                       [&](const TableIds& lists, const TableRow&) {
                         read.emplace_back(lists.ids.begin(), lists.ids.end());
                       });
    ASSERT_EQ(read.size(), rows.size()) << name;
    std::vector<std::int64_t> all;
    for (std::size_t i = 0; i < read.size(); ++i) {
      const auto row =
          rows[i].is_null() ? std::vector<std::int64_t>() : rows[i].get<std::vector<std::int64_t>>();
      EXPECT_EQ(read[i], row) << name << ", row " << i;
      all.insert(all.end(), row.begin(), row.end());
    }
    // The same where they are mapped, and as JSON.
    const auto corpus = map_arrow_ids({files + name + ".arrow"}, "input_ids", std::nullopt, std::nullopt);
    std::vector<std::int64_t> tokens(corpus->num_tokens());
    corpus->read(0, tokens);
    EXPECT_EQ(tokens, all) << name;
    Json records = Json::array();
    for (const Json& record : rows_in(name + ".arrow")) records.push_back(record.at("input_ids"));
    EXPECT_EQ(records, rows) << name;
  }
}

TEST(GoldenFiles, MayHaveColumnsOfAnyTypeBesideThoseThatAreRead) {
  const Json types = expected("every_type");
  for (const std::string name : {"every_type.parquet", "every_type.arrow"}) {
    EXPECT_EQ(texts_in(name, "text"), without_empty(types.at("text"))) << name;
    EXPECT_EQ(texts_in(name, "bytes"), without_empty(types.at("bytes"))) << name;
    EXPECT_EQ(texts_in(name, "nothing"), Json::array()) << name;
    Json contents = Json::array(), tags = Json::array();
    for_each_record({files + name}, std::nullopt, {"messages", "tags"}, [&](const Record& row) {
      Json own = Json::array();
      for (const RowJson& message : row.columns.at("messages")) own.push_back(Json(message.at("content")));
      contents.push_back(std::move(own));
      tags.push_back(Json(row.columns.at("tags")));
    });
    EXPECT_EQ(contents, types.at("contents")) << name;
    EXPECT_EQ(tags, types.at("tags")) << name;
    // Every type has some value: data inspect shows all of them.
    std::size_t rows = 0;
    for (const Json& row : rows_in(name)) rows += row.dump().empty() ? 0 : 1;
    EXPECT_EQ(rows, 4) << name;
    EXPECT_EQ(rows_in(name)[0].at("price"), "1.50") << name;
  }
}

TEST(GoldenFiles, AreFoundByPatternsAsPythonFindsThem) {
  const Json patterns = expected("patterns");
  const Folder folder;
  for (const Json& name : patterns.at("tree")) {
    const std::string path = folder.path(name.get<std::string>());
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << "";
  }
  for (const auto& [pattern, names] : patterns.at("found").items()) {
    std::vector<std::string> expected_names;
    for (const Json& name : names) expected_names.push_back(folder.path(name.get<std::string>()));
    std::ranges::sort(expected_names);
    EXPECT_EQ(matches_of(folder.path(pattern)), expected_names) << pattern;
  }
}

}  // namespace
}  // namespace d9d
