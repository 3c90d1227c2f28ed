#pragma once
// Reads Parquet and Arrow files as batches of Arrow's own types. Include it only from
// sources of this folder.

#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include "runtime/base/error.hpp"
#include "runtime/data/table/tables.hpp"

namespace d9d {

// Throws a failure of Arrow as an input error that names the file.
void require_ok(const arrow::Status& status, const std::string& file);
template <class Value>
Value taken(arrow::Result<Value> result, const std::string& file) {
  require_ok(result.status(), file);
  return std::move(result).ValueUnsafe();
}

// Maps a file. The mapping must live as long as the batches that are read from it.
std::shared_ptr<arrow::io::MemoryMappedFile> map_table(const std::string& file);

struct TableSchema {
  std::shared_ptr<arrow::Schema> columns;
  std::uint64_t rows = 0;
  std::uint64_t pieces = 0;  // row groups or batches
};
TableSchema schema_of_table(const std::string& file, TableFormat format);

// Returns the named column; the input error for a missing one names the columns that the file has.
const arrow::Field& column_of(const arrow::Schema& schema, const std::string& name, const std::string& file,
                              std::string_view key);

// Reads the batches one after the other, with the columns of these names in the file's order; all
// columns if no name is given. `first` is the number of the batch's first row.
using UseBatch = std::function<void(const std::shared_ptr<arrow::RecordBatch>& batch, std::uint64_t first)>;
void for_each_batch(const std::string& file, TableFormat format, const std::vector<std::string>& columns,
                    const UseBatch& use);
// The same for an Arrow file that is mapped already.
void for_each_mapped_batch(const std::shared_ptr<arrow::io::MemoryMappedFile>& mapped,
                           const std::string& file, const std::vector<std::string>& columns,
                           const UseBatch& use);

}  // namespace d9d
