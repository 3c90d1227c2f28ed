#pragma once
// Rows of a Parquet file as batches of Arrow's own types. Include it only from sources of this folder. A file that
// cannot be read is an input error.

#include "runtime/data/table/arrow_file.hpp"

namespace d9d {

// `pieces` are row groups.
TableSchema schema_of_parquet(const std::string& file);

// As for_each_batch(), without a look at what the batches hold.
void for_each_parquet_batch(const std::string& file, const std::vector<std::string>& columns,
                            const UseBatch& use);

}  // namespace d9d
