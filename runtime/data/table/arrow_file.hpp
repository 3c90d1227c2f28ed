#pragma once
// What readers of Parquet and of Arrow files share. Include it only from sources of this folder.

#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include <functional>
#include <string>
#include <vector>

#include "runtime/base/error.hpp"

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

// Whether `columns` names this one; no names mean all.
bool is_wanted(const std::vector<std::string>& columns, const std::string& name);

// The message for a file that Arrow's library cannot read, which says `why`.
std::string unreadable(const std::string& file, const std::string& why);

// `first` is the number of the batch's first row.
using UseBatch = std::function<void(const std::shared_ptr<arrow::RecordBatch>& batch, std::uint64_t first)>;

}  // namespace d9d
