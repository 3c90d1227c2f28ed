#include "runtime/data/source/text/records.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Records, OfJsonLinesComeWithTheirPlaces) {
  const Folder folder;
  std::filesystem::create_directories(folder.path("lines"));
  folder.write("lines/b.jsonl", "{\"a\": 2}\n\n  \n{\"a\": 3}\n");
  folder.write("lines/a.jsonl", "{\"a\": 1}\n");
  std::vector<std::string> rows;
  std::vector<std::uint64_t> read;

  for_each_record({folder.path("lines")}, RowFormat::jsonl, {"a"}, [&](const Record& row) {
    rows.push_back(std::filesystem::path(row.where).filename().string() + " " + row.columns.dump());
    read.push_back(row.bytes_read);
  });

  EXPECT_THAT(rows, ElementsAre("a.jsonl:1 {\"a\":1}", "b.jsonl:1 {\"a\":2}", "b.jsonl:4 {\"a\":3}"));
  EXPECT_THAT(read, ElementsAre(8, 17, 30));
}

TEST(Records, ThatAreNoObjectsAreRefused) {
  const Folder folder;
  const std::string file = folder.write("a.jsonl", "{}\n[1]\n");
  EXPECT_THAT(test::error_of([&] { for_each_record({file}, RowFormat::jsonl, {}, [](const Record&) {}); },
                             ErrorKind::input),
              HasSubstr("a.jsonl:2: not a JSON object; expected one a line"));
}

}  // namespace
}  // namespace d9d
