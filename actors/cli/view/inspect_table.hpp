#pragma once
// `d9d-node data inspect` of Parquet and Arrow files.

#include <optional>

#include "actors/cli/arguments.hpp"
#include "runtime/data/table/tables.hpp"

namespace d9d {

// The format that the ending of a file says, or the endings of the files in a folder. None: it is no table.
std::optional<TableFormat> table_format_of_name(const std::string& name);
// Prints the number of rows, the columns and the first rows of the file or folder that the command names.
int inspect_table(const Arguments& arguments, TableFormat format, Console& console);

}  // namespace d9d
