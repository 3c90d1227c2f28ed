#include "runtime/data/table/arrow_csv.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ArrowCsv : public testing::Test {
 protected:
  std::vector<std::string> texts(const std::string& table, const std::string& column = "text") {
    std::vector<std::string> out;
    for_each_csv_text(folder_.write("t.csv", table), TableFormat::csv, column,
                      [&](std::string_view text, const TableRow& row) {
                        EXPECT_EQ(row.number, out.size());
                        out.emplace_back(text);
                      });
    return out;
  }
  std::string refusal(const std::string& table, const std::string& column = "text") {
    return test::error_of([&] { texts(table, column); }, ErrorKind::input);
  }
  const Folder folder_;
};

TEST_F(ArrowCsv, HasTextsWhateverTheyLookLike) {
  EXPECT_THAT(texts("\xef\xbb\xbfid,text\n1,007\n2,\n3,NULL\n4,\"a\nb, \"\"c\"\"\"\n5,2024-01-02\n"),
              ElementsAre("007", "", "NULL", "a\nb, \"c\"", "2024-01-02"));
  EXPECT_THAT(texts("text\n"), ElementsAre());
}

// A column whose first megabyte is numbers has words behind them.
TEST_F(ArrowCsv, DoesNotGuessTypesFromItsBeginning) {
  std::string table = "text,n\n";
  for (int i = 0; i < 400'000; ++i) table += std::to_string(i) + ",1\n";
  EXPECT_EQ(texts(table + "word,x\n").back(), "word");
}

TEST_F(ArrowCsv, SaysWhatIsWrong) {
  EXPECT_THAT(refusal("a,b\n1,2\n"),
              HasSubstr("t.csv: no column \"text\"; name one of a, b with data.text_field"));
  EXPECT_THAT(refusal("text,b\n1,2,3\n"), HasSubstr("t.csv: "));
  EXPECT_THAT(refusal("text,text\n1,2\n"), HasSubstr("2 columns have the name \"text\""));
  EXPECT_THAT(refusal(""), HasSubstr("t.csv: "));
  EXPECT_THAT(refusal("PAR1"), HasSubstr("a Parquet file"));
}

}  // namespace
}  // namespace d9d
