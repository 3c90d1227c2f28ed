#pragma once
// Rows of files with named columns, in order, as JSON objects.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/data/row_format.hpp"
#include "runtime/data/table/row_json.hpp"
#include "runtime/data/table/tables.hpp"

namespace d9d {

// The files that `files` names (expand_files()) when they are of this format.
std::vector<std::string> files_of(const std::vector<std::string>& files, RowFormat format);
// Nothing for JSON lines.
std::optional<TableFormat> table_format_of(RowFormat format);

struct Record {
  const RowJson& columns;        // an object; lives only during the call
  std::string where;             // "talk.jsonl:12", "talk.parquet, row 11"
  std::uint64_t bytes_read = 0;  // of all files, up to about its end
};
// Of tables only the named columns are read. Input errors: those of the file's format, a line that is no object.
using UseRecord = std::function<void(const Record&)>;
void for_each_record(const std::vector<std::string>& files, RowFormat format,
                     const std::vector<std::string>& columns, const UseRecord& use);

}  // namespace d9d
