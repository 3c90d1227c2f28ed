#pragma once
// Parquet and Arrow files as batches of Arrow's own types. Only the other sources of this folder include it.

#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include "runtime/base/error.hpp"
#include "runtime/data/table/tables.hpp"

namespace d9d {

// What Arrow says of a file is an input error that names it.
void require_ok(const arrow::Status& status, const std::string& file);
template <class Value>
Value taken(arrow::Result<Value> result, const std::string& file) {
  require_ok(result.status(), file);
  return std::move(result).ValueUnsafe();
}

// Keeps the bytes of its batches mapped while it lives.
std::shared_ptr<arrow::io::MemoryMappedFile> map_table(const std::string& file);

struct TableSchema {
  std::shared_ptr<arrow::Schema> columns;
  std::uint64_t rows = 0;
  std::uint64_t pieces = 0;  // row groups or batches
};
TableSchema schema_of_table(const std::string& file, TableFormat format);

// The named column of the file; an input error names those that there are.
const arrow::Field& column_of(const arrow::Schema& schema, const std::string& name, const std::string& file,
                              std::string_view key);

// One after the other, with the columns of these names only, in the file's order; all of them where none is named.
// `first` is the number of its first row.
using UseBatch = std::function<void(const std::shared_ptr<arrow::RecordBatch>& batch, std::uint64_t first)>;
void for_each_batch(const std::string& file, TableFormat format, const std::vector<std::string>& columns,
                    const UseBatch& use);
// The same of an Arrow file that is mapped already.
void for_each_mapped_batch(const std::shared_ptr<arrow::io::MemoryMappedFile>& mapped,
                           const std::string& file, const std::vector<std::string>& columns,
                           const UseBatch& use);

}  // namespace d9d
