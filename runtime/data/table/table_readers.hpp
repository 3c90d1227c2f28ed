#pragma once
// The functions of tables.hpp, implemented with Arrow. They are in a library of their own,
// libd9d_tables.so, which is loaded when the first table is opened: Arrow costs every process that
// loads it 15 MiB.

#include "runtime/data/table/tables.hpp"

namespace d9d {

struct TableReaders {
  decltype(&for_each_table_text) for_each_text;
  decltype(&for_each_table_record) for_each_record;
  decltype(&for_each_table_ids) for_each_ids;
  decltype(&map_arrow_ids) map_ids;
  decltype(&columns_of_table) columns;
  decltype(&outline_of_table) outline;
};

// Sets the functions to use from now on, for a program that is linked with Arrow; null: those of
// libd9d_tables.so in the folder of this library. Returns the functions that were used before.
const TableReaders* set_table_readers(const TableReaders* readers);

// The contents of libd9d_tables.so.
namespace arrow_tables {
void for_each_text(const std::string& file, TableFormat format, const std::string& column,
                   const UseTableText& use);
void for_each_record(const std::string& file, TableFormat format, const std::vector<std::string>& columns,
                     const UseTableRecord& use);
void for_each_ids(const std::string& file, TableFormat format, const IdColumns& columns,
                  const UseTableIds& use);
std::shared_ptr<const TokenCorpus> map_ids(const std::vector<std::string>& files, const std::string& column,
                                           std::optional<std::int64_t> ids_below,
                                           const std::optional<std::string>& mask);
std::vector<std::string> columns(const std::string& file, TableFormat format);
TableOutline outline(const std::string& file, TableFormat format);
}  // namespace arrow_tables

}  // namespace d9d

extern "C" const d9d::TableReaders* d9d_table_readers();
