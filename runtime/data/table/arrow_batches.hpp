#pragma once
// Reads Parquet and Arrow files as batches of Arrow's own types. Include it only from
// sources of this folder.

#include "runtime/data/table/arrow_file.hpp"
#include "runtime/data/table/tables.hpp"

namespace d9d {

TableSchema schema_of_table(const std::string& file, TableFormat format);

// Returns the named column; the input error for a missing one names the columns that the file has.
const arrow::Field& column_of(const arrow::Schema& schema, const std::string& name, const std::string& file,
                              std::string_view key);

// Reads the batches one after the other, with the columns of these names in the file's order; all
// columns if no name is given.
void for_each_batch(const std::string& file, TableFormat format, const std::vector<std::string>& columns,
                    const UseBatch& use);
// The same for an Arrow file that is mapped already.
void for_each_mapped_batch(const std::shared_ptr<arrow::io::MemoryMappedFile>& mapped,
                           const std::string& file, const std::vector<std::string>& columns,
                           const UseBatch& use);

}  // namespace d9d
