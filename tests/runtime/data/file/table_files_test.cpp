#include "runtime/data/file/table_files.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TableFiles : public testing::Test {
 protected:
  TableFiles() { std::filesystem::create_directories(folder_.path("set")); }
  std::vector<std::string> files() const { return expand_files({folder_.path("set")}, "arrow"); }
  std::string refusal() const {
    return test::error_of([&] { files(); }, ErrorKind::input);
  }
  std::string inside(const std::string& name) const { return folder_.path("set/" + name); }

  const Folder folder_;
};

TEST_F(TableFiles, OfAFolderAreThoseWithTheEndingByName) {
  folder_.write("set/b.arrow", "");
  folder_.write("set/a.arrow", "");
  folder_.write("set/c.parquet", "");
  EXPECT_THAT(files(), ElementsAre(inside("a.arrow"), inside("b.arrow")));
  EXPECT_THAT(expand_files({folder_.path("s*")}, "parquet"), ElementsAre(inside("c.parquet")));
  EXPECT_THAT(expand_files({inside("*.arrow")}, "arrow"), ElementsAre(inside("a.arrow"), inside("b.arrow")));
}

TEST_F(TableFiles, OfASavedDatasetAreThoseOfItsStateInThatOrder) {
  folder_.write("set/a.arrow", "");
  folder_.write("set/state.json",
                R"({"_data_files": [{"filename": "data-1.arrow"}, {"filename": "data-0.arrow"}]})");
  EXPECT_THAT(files(), ElementsAre(inside("data-1.arrow"), inside("data-0.arrow")));
}

TEST_F(TableFiles, SayWhatAFolderLacks) {
  EXPECT_THAT(refusal(), HasSubstr("has no file that ends in .arrow"));
  folder_.write("set/state.json",
                R"({"_data_files": [{"filename": "a"}], "_indices_data_files": [{"filename": "i"}]})");
  EXPECT_THAT(refusal(), HasSubstr("dataset.flatten_indices().save_to_disk"));
  folder_.write("set/state.json", R"({"_data_files": []})");
  EXPECT_THAT(refusal(), HasSubstr("_data_files names no file"));
  folder_.write("set/state.json", "[");
  EXPECT_THAT(refusal(), HasSubstr("state.json is no JSON object"));
  folder_.write("set/dataset_dict.json", R"({"splits": ["train", "test"]})");
  EXPECT_THAT(refusal(),
              HasSubstr("has several splits; name one of " + inside("train") + ", " + inside("test")));
}

TEST_F(TableFiles, OfAFolderAreThoseInItsFoldersTooAndNotWhatLiesBesideData) {
  std::filesystem::create_directories(folder_.path("set/deep/er"));
  std::filesystem::create_directories(folder_.path("set/.cache"));
  folder_.write("set/a.arrow", "");
  folder_.write("set/deep/er/b.arrow", "");
  for (const char* name : {"set/.cache/h.arrow", "set/.h.arrow", "set/cache-5a.arrow", "set/_SUCCESS"})
    folder_.write(name, "");
  EXPECT_THAT(files(), ElementsAre(inside("a.arrow"), inside("deep/er/b.arrow")));
  EXPECT_THAT(find_data_files({.names = {inside("*")}, .format = FileFormat::arrow}).paths,
              ElementsAre(inside("a.arrow"), inside("deep/er/b.arrow")));
}

TEST_F(TableFiles, OfSeveralSplitsAreRefusedUntilOneIsChosen) {
  for (const char* name : {"train-00000-of-00001.parquet", "test-00000-of-00001.parquet", "dev.parquet"})
    folder_.write(std::string("set/") + name, "");
  FileWish wish{.names = {folder_.path("set")}};
  const auto refusal = test::error_of([&] { find_data_files(wish); }, ErrorKind::input);
  EXPECT_THAT(refusal, HasSubstr("has files of several splits"));
  EXPECT_THAT(refusal, HasSubstr("data.split"));
  wish.split = "train";
  EXPECT_THAT(find_data_files(wish).paths, ElementsAre(inside("train-00000-of-00001.parquet")));
  EXPECT_EQ(find_data_files(wish).format, FileFormat::parquet);
  wish.split = "val";
  EXPECT_THAT(find_data_files(wish).paths, ElementsAre(inside("dev.parquet")));
  wish.split = "all";
  EXPECT_EQ(find_data_files(wish).paths.size(), 3);
  wish.split = "other";
  EXPECT_THAT(test::error_of([&] { find_data_files(wish); }, ErrorKind::input),
              HasSubstr("has no file of the split \"other\"; there are test ("));
  // A pattern is asked as a folder is; whoever names files has chosen.
  EXPECT_THAT(test::error_of([&] { find_data_files({.names = {inside("*.parquet")}}); }, ErrorKind::input),
              HasSubstr("data.split"));
  EXPECT_EQ(find_data_files({.names = {inside("dev.parquet"), inside("train-00000-of-00001.parquet")}})
                .paths.size(),
            2);
}

TEST_F(TableFiles, HaveTheFormatThatTheirEndingsAgreeOn) {
  const auto format_of = [&](const std::vector<std::string>& names, FileFormat otherwise = FileFormat::text) {
    FileWish wish{.otherwise = otherwise};
    for (const std::string& name : names) wish.names.push_back(folder_.write("set/" + name, "{}"));
    return find_data_files(wish).format;
  };
  EXPECT_EQ(format_of({"a.jsonl", "b.ndjson.gz"}), FileFormat::jsonl);
  EXPECT_EQ(format_of({"a.json.zst"}), FileFormat::json);
  EXPECT_EQ(format_of({"a.CSV"}), FileFormat::csv);
  EXPECT_EQ(format_of({"a.txt", "b.md"}), FileFormat::text);
  EXPECT_EQ(format_of({"a.txt", "b.json"}), FileFormat::text);
  EXPECT_EQ(format_of({"rows"}, FileFormat::arrow), FileFormat::jsonl);  // by its bytes
  EXPECT_THAT(test::error_of(
                  [&] {
                    format_of({"a.txt", "b.jsonl"});
                  },
                  ErrorKind::input),
              HasSubstr("data.format"));
  EXPECT_THAT(test::error_of([&] { format_of({"a.parquet.gz"}); }, ErrorKind::input), HasSubstr("unpack it"));
}

TEST_F(TableFiles, ThatAreThereTwiceAreNotReadTwice) {
  folder_.write("set/a.jsonl", "");
  folder_.write("set/a.jsonl.gz", "");
  EXPECT_THAT(test::error_of([&] { find_data_files({.names = {folder_.path("set")}}); }, ErrorKind::input),
              HasSubstr("a.jsonl.gz is there packed and unpacked"));
}

}  // namespace
}  // namespace d9d
