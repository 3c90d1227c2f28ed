#pragma once
// Reads Parquet files, Arrow's IPC files in both layouts (the stream that `datasets` writes, and
// the file), and CSV whose first line has the names and whose values are texts. Parquet is read by
// row group, Arrow is mapped, and CSV (packed or not) is read in blocks. A build without Arrow's
// library refuses all of them by name.

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/corpus/token_corpus.hpp"
#include "runtime/data/file/row_json.hpp"
#include "runtime/data/file/table_format.hpp"

namespace d9d {

// The place of a row: its number in the file, from 0, and about which share of the file has
// been read with it.
struct TableRow {
  std::uint64_t number = 0;
  double read = 0;
};

// Input errors, here and below, name the file: it cannot be read, is of another format, lacks the
// column (the error names those that there are), or the column has another type.
// Calls the function with the texts of a column (strings, bytes, dictionaries of them); a null is
// an empty text. The text lives only during the call.
using UseTableText = std::function<void(std::string_view text, const TableRow& row)>;
void for_each_table_text(const std::string& file, TableFormat format, const std::string& column,
                         const UseTableText& use);

// Calls the function with each row as an object of the named columns that the file has; all columns
// if no name is given. Lists, structs and maps become lists and objects. Values that JSON lacks,
// such as dates and decimals, become the text that Arrow prints.
using UseTableRecord = std::function<void(const RowJson& record, const TableRow& row)>;
void for_each_table_record(const std::string& file, TableFormat format,
                           const std::vector<std::string>& columns, const UseTableRecord& use);

// Columns of lists of integers.
struct IdColumns {
  std::string ids;
  std::optional<std::string> labels;  // as long as the ids
  std::optional<std::string> mask{};  // as long as the ids, where the file has such a column
};
struct TableIds {
  std::span<const std::int64_t> ids;
  std::span<const std::int64_t> labels;
  std::optional<std::span<const std::int64_t>> mask;
};
using UseTableIds = std::function<void(const TableIds& lists, const TableRow& row)>;
void for_each_table_ids(const std::string& file, TableFormat format, const IdColumns& columns,
                        const UseTableIds& use);

// Maps lists of token ids in Arrow files, one list for each document, and reads them in place;
// memory holds one table entry per batch. Ids that are negative or not below `ids_below` are found
// when they are read. So is padding: ids whose `mask` (a column that a file may have) is 0. Returns
// null if the first ids have padding, because mapped lists cannot leave it out.
std::shared_ptr<const TokenCorpus> map_arrow_ids(const std::vector<std::string>& files,
                                                 const std::string& column,
                                                 std::optional<std::int64_t> ids_below,
                                                 const std::optional<std::string>& mask = {});

std::vector<std::string> columns_of_table(const std::string& file, TableFormat format);

// Describes a file without its rows. CSV has to be read for it.
struct TableOutline {
  std::uint64_t rows = 0;
  std::uint64_t pieces = 0;                                    // row groups or batches
  std::vector<std::pair<std::string, std::string>> columns{};  // names and types
};
TableOutline outline_of_table(const std::string& file, TableFormat format);

}  // namespace d9d
