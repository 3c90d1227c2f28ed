#pragma once
// Parquet and Arrow files for tests, written by Arrow itself.

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/compression.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include <optional>
#include <string>
#include <vector>

namespace d9d::test {

using Column = std::shared_ptr<arrow::Array>;

inline Column text_column(const std::vector<std::optional<std::string>>& texts) {
  arrow::StringBuilder builder;
  for (const auto& text : texts) EXPECT_TRUE((text ? builder.Append(*text) : builder.AppendNull()).ok());
  return builder.Finish().ValueOrDie();
}

// Value: arrow::Int32Builder ...; Lists: arrow::ListBuilder or arrow::LargeListBuilder.
template <class Value = arrow::Int32Builder, class Lists = arrow::ListBuilder>
Column ids_column(const std::vector<std::vector<std::int64_t>>& rows) {
  const auto values = std::make_shared<Value>();
  Lists lists(arrow::default_memory_pool(), values);
  for (const auto& row : rows) {
    EXPECT_TRUE(lists.Append().ok());
    for (const std::int64_t id : row) {
      EXPECT_TRUE(values->Append(static_cast<typename Value::value_type>(id)).ok());
    }
  }
  return lists.Finish().ValueOrDie();
}

struct NamedColumn {
  std::string name;
  Column values;
};

inline std::shared_ptr<arrow::RecordBatch> batch_of(const std::vector<NamedColumn>& columns) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const NamedColumn& column : columns) {
    fields.push_back(arrow::field(column.name, column.values->type()));
    arrays.push_back(column.values);
  }
  return arrow::RecordBatch::Make(arrow::schema(fields), arrays.front()->length(), arrays);
}

using Batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;
enum class Layout { stream, file, compressed_stream };

inline std::string write_arrow(const std::string& path, const Batches& batches,
                               Layout layout = Layout::stream) {
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  if (layout == Layout::compressed_stream) {
    options.codec = arrow::util::Codec::Create(arrow::Compression::LZ4_FRAME).ValueOrDie();
  }
  const auto out = arrow::io::FileOutputStream::Open(path).ValueOrDie();
  const auto writer =
      (layout == Layout::file ? arrow::ipc::MakeFileWriter(out, batches.front()->schema(), options)
                              : arrow::ipc::MakeStreamWriter(out, batches.front()->schema(), options))
          .ValueOrDie();
  for (const auto& batch : batches) EXPECT_TRUE(writer->WriteRecordBatch(*batch).ok());
  EXPECT_TRUE(writer->Close().ok());
  EXPECT_TRUE(out->Close().ok());
  return path;
}

inline std::string write_parquet(const std::string& path, const Batches& batches,
                                 std::int64_t rows_of_group) {
  const auto out = arrow::io::FileOutputStream::Open(path).ValueOrDie();
  const auto table = arrow::Table::FromRecordBatches(batches).ValueOrDie();
  EXPECT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, rows_of_group).ok());
  EXPECT_TRUE(out->Close().ok());
  return path;
}

}  // namespace d9d::test
