#include "runtime/data/file/file_format.hpp"

#include <gmock/gmock.h>

namespace d9d {
namespace {

TEST(FileFormat, IsToldByTheEndingBeneathThatOfThePacking) {
  EXPECT_EQ(format_of_ending("a/b.jsonl"), FileFormat::jsonl);
  EXPECT_EQ(format_of_ending("b.NDJSON.bz2"), FileFormat::jsonl);
  EXPECT_EQ(format_of_ending("b.tsv.xz"), FileFormat::tsv);
  EXPECT_EQ(format_of_ending("b.feather"), FileFormat::arrow);
  EXPECT_EQ(format_of_ending("b.txt.gz"), std::nullopt);
  EXPECT_EQ(format_of_ending(".jsonl"), std::nullopt);  // a hidden file without an ending
  EXPECT_EQ(without_packing("b.txt.zst"), "b.txt");
}

TEST(FileFormat, IsToldByTheFirstBytesElse) {
  EXPECT_EQ(format_of_bytes("PAR1"), FileFormat::parquet);
  EXPECT_EQ(format_of_bytes("ARROW1"), FileFormat::arrow);
  EXPECT_EQ(format_of_bytes("\xff\xff\xff\xff"), FileFormat::arrow);
  EXPECT_EQ(format_of_bytes(" \n[{"), FileFormat::json);
  EXPECT_EQ(format_of_bytes("{\"a\""), FileFormat::jsonl);
  EXPECT_EQ(format_of_bytes("words"), std::nullopt);
  EXPECT_EQ(format_of_bytes(""), std::nullopt);
}

}  // namespace
}  // namespace d9d
