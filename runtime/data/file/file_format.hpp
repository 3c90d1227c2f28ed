#pragma once
// What files hold, by their names and first bytes.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/config/row_format.hpp"
#include "runtime/data/config/text_data_config.hpp"
#include "runtime/data/file/table_format.hpp"

namespace d9d {

// text; rows as a JSON object a line; a JSON array of objects; tables.
enum class FileFormat { text, jsonl, json, parquet, arrow, csv, tsv };

FileFormat file_format(TextFormat format);
FileFormat file_format(RowFormat format);
TextFormat text_format(FileFormat format);
RowFormat row_format(FileFormat format);  // not of text
const char* name_of(FileFormat format);   // as data.format takes it
// Nothing for text and JSON.
std::optional<TableFormat> table_format_of(FileFormat format);

// "x.jsonl.gz" -> jsonl. Nothing where the ending is of none; .txt is none of a format's own.
std::optional<FileFormat> format_of_ending(std::string_view path);
// ".jsonl", ".ndjson", ...; text: ".txt". The packed ones are not among them.
std::vector<std::string> endings_of(FileFormat format);
// "x.jsonl.gz" -> "x.jsonl".
std::string_view without_packing(std::string_view path);
// By the first bytes of a file of rows: Parquet, Arrow, a JSON array or object.
std::optional<FileFormat> format_of_bytes(std::string_view first);

}  // namespace d9d
