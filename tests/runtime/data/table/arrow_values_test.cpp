#include "runtime/data/table/arrow_values.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/runtime/data/table/arrow_files.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::vector<std::int64_t>> rows_of(const IntegerLists& lists) {
  std::vector<std::vector<std::int64_t>> out;
  for (std::uint64_t row = 0; row < lists.rows(); ++row) {
    out.emplace_back(lists.begin_of(row + 1) - lists.begin_of(row));
    lists.read(lists.begin_of(row), out.back());
  }
  return out;
}

template <class Value, class Lists = arrow::ListBuilder>
void expect_read() {
  const std::vector<std::vector<std::int64_t>> rows{{1, 2, 3}, {}, {100}};
  const auto column = test::ids_column<Value, Lists>(rows);
  EXPECT_EQ(rows_of(IntegerLists(*column, "here")), rows) << column->type()->ToString();
  const std::vector<std::vector<std::int64_t>> behind(rows.begin() + 1, rows.end());
  EXPECT_EQ(rows_of(IntegerLists(*column->Slice(1), "here")), behind) << column->type()->ToString();
}

TEST(ArrowValues, AreListsOfAnyIntegers) {
  expect_read<arrow::Int8Builder>();
  expect_read<arrow::UInt16Builder>();
  expect_read<arrow::Int32Builder>();
  expect_read<arrow::UInt32Builder, arrow::LargeListBuilder>();
  expect_read<arrow::Int64Builder, arrow::LargeListBuilder>();
  arrow::FixedSizeListBuilder fixed(arrow::default_memory_pool(), std::make_shared<arrow::Int64Builder>(), 2);
  auto& of_fixed = static_cast<arrow::Int64Builder&>(*fixed.value_builder());
  for (const std::int64_t first : {1, 3, 5}) {
    ASSERT_TRUE(fixed.Append().ok() && of_fixed.AppendValues({first, first + 1}).ok());
  }
  const auto column = fixed.Finish().ValueOrDie();
  EXPECT_THAT(rows_of(IntegerLists(*column->Slice(1), "here")),
              ElementsAre(ElementsAre(3, 4), ElementsAre(5, 6)));
}

TEST(ArrowValues, AreFlagsWhereBooleansMayBe) {
  const auto column = test::ids_column<arrow::BooleanBuilder>({{1, 0, 1}, {}, {0, 1}, {1}});
  EXPECT_THAT(rows_of(IntegerLists(*column, "here", ListValues::flags)),
              ElementsAre(ElementsAre(1, 0, 1), ElementsAre(), ElementsAre(0, 1), ElementsAre(1)));
  EXPECT_THAT(rows_of(IntegerLists(*column->Slice(2, 1), "here", ListValues::flags)),
              ElementsAre(ElementsAre(0, 1)));
  EXPECT_THAT(test::error_of([&] { const IntegerLists lists(*column, "here"); }, ErrorKind::input),
              HasSubstr("here: lists of the type bool, expected integers"));
}

TEST(ArrowValues, RefuseListsOfOtherThingsAndPlacesOutOfOrder) {
  const auto refusal_of = [](const test::Column& column) {
    return test::error_of([&] { const IntegerLists lists(*column, "a.arrow"); }, ErrorKind::input);
  };
  arrow::Int32Builder with_null;
  ASSERT_TRUE(with_null.Append(1).ok() && with_null.AppendNull().ok());
  const auto offsets = [](std::vector<std::int32_t> places) {
    arrow::Int32Builder builder;
    EXPECT_TRUE(builder.AppendValues(places).ok());
    return builder.Finish().ValueOrDie();
  };
  const auto null_inside =
      arrow::ListArray::FromArrays(*offsets({0, 2}), *with_null.Finish().ValueOrDie()).ValueOrDie();
  const auto disorder = [&](std::vector<std::int32_t> places) {
    const auto good = test::ids_column({{1, 2}, {3}});
    const auto data = good->data()->Copy();
    data->buffers[1] = offsets(std::move(places))->data()->buffers[1];
    return arrow::MakeArray(data);
  };

  EXPECT_THAT(refusal_of(test::text_column({"x"})), HasSubstr("a.arrow: a column of the type string"));
  EXPECT_THAT(refusal_of(test::ids_column<arrow::DoubleBuilder>({{1}})),
              HasSubstr("lists of the type double"));
  EXPECT_THAT(refusal_of(null_inside), HasSubstr("a null among the integers"));
  EXPECT_THAT(refusal_of(disorder({0, 9, 3})), HasSubstr("the list of row 0 is outside"));
  EXPECT_THAT(refusal_of(disorder({0, 2, 1})), HasSubstr("the list of row 1 is outside"));
}

TEST(ArrowValues, AreJsonOfTextsNumbersListsAndStructsAndOfOthersTheirText) {
  const auto messages = arrow::StructArray::Make({test::text_column({"user", "assistant"}),
                                                  test::text_column({"hello", std::nullopt})},
                                                 std::vector<std::string>{"role", "content"})
                            .ValueOrDie();
  EXPECT_EQ(json_value(*messages, 1).dump(), R"({"role":"assistant","content":null})");
  EXPECT_EQ(json_value(*test::ids_column<arrow::UInt64Builder>({{1}, {2, 3}}), 1).dump(), "[2,3]");
  arrow::DoubleBuilder numbers;
  ASSERT_TRUE(numbers.Append(0.5).ok());
  EXPECT_EQ(json_value(*numbers.Finish().ValueOrDie(), 0).dump(), "0.5");
  arrow::BooleanBuilder flags;
  ASSERT_TRUE(flags.Append(true).ok());
  EXPECT_EQ(json_value(*flags.Finish().ValueOrDie(), 0).dump(), "true");
  arrow::Date32Builder dates;
  ASSERT_TRUE(dates.Append(1).ok());
  const auto date = dates.Finish().ValueOrDie();
  EXPECT_EQ(json_value(*date, 0).dump(), R"("1970-01-02")");  // as Arrow prints it
}

}  // namespace
}  // namespace d9d
