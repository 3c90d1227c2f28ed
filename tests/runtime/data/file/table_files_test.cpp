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

}  // namespace
}  // namespace d9d
