#pragma once
// Reads the rows of files with named columns, in order, as JSON objects.

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/log.hpp"
#include "runtime/data/chat/unread_fields.hpp"
#include "runtime/data/config/row_format.hpp"
#include "runtime/data/file/row_json.hpp"
#include "runtime/data/file/row_place.hpp"
#include "runtime/data/file/table_files.hpp"
#include "runtime/data/table/tables.hpp"

namespace d9d {

// The kind of table; nothing for JSON.
std::optional<TableFormat> table_format_of(RowFormat format);

// Finds the files that a section of rows names with find_data_files().
std::vector<std::string> files_of(const std::vector<std::string>& files, std::optional<RowFormat> format,
                                  const std::optional<std::string>& split = {});

// Returns a section that has files, format and split with the names of the files found and their
// format. Calling it again finds the same files. `otherwise` is the format where neither ending nor
// first bytes tell it.
template <class Config>
Config with_found_files(Config config, RowFormat otherwise) {
  const auto format = config.format ? std::optional(file_format(*config.format)) : std::nullopt;
  DataFiles found = find_data_files({config.files, format, file_format(otherwise), config.split});
  if (!config.format && found.format != file_format(otherwise))
    log::info("data.files: read as {}, as they look; data.format says otherwise", name_of(found.format));
  config.files = std::move(found.paths);
  config.format = row_format(found.format);
  config.split.reset();
  return config;
}

struct Record {
  const RowJson& columns;        // an object; lives only during the call
  std::string where;             // "talk.jsonl:12", "talk.parquet, row 11"
  std::uint64_t bytes_read = 0;  // of all files, up to about the end of this row
  RowPlace place{};
};
// Calls the function with each row of `files` (names as in find_data_files()). Of tables only the
// named columns are read; `unread` is given the names of the others. Input errors: those of the
// file's format, a line that is no object.
using UseRecord = std::function<void(const Record&)>;
void for_each_record(const std::vector<std::string>& files, std::optional<RowFormat> format,
                     const std::vector<std::string>& columns, const UseRecord& use,
                     UnreadFields* unread = nullptr);

}  // namespace d9d
