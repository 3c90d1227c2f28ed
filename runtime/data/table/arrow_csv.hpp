#pragma once
// Reads CSV and TSV with Arrow's reader. The first line names the columns. Every value is a text,
// which may have several lines in quotes. Packed files are unpacked while they are read. Include it
// only from sources of this folder.

#include "runtime/data/table/tables.hpp"

namespace d9d {

bool is_csv(TableFormat format);

// As for_each_table_text(), for_each_table_record() and outline_of_table().
void for_each_csv_text(const std::string& file, TableFormat format, const std::string& column,
                       const UseTableText& use);
void for_each_csv_record(const std::string& file, TableFormat format, const std::vector<std::string>& columns,
                         const UseTableRecord& use);
std::vector<std::string> columns_of_csv(const std::string& file, TableFormat format);
TableOutline outline_of_csv(const std::string& file, TableFormat format);

}  // namespace d9d
