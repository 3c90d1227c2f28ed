#pragma once
// Recognises the format of a file by its name and its first bytes.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/config/row_format.hpp"
#include "runtime/data/config/text_data_config.hpp"
#include "runtime/data/file/table_format.hpp"

namespace d9d {

// Plain text; a JSON object in each line; one JSON array of objects; tables.
enum class FileFormat { text, jsonl, json, parquet, arrow, csv, tsv };
BOOST_DESCRIBE_ENUM(FileFormat, text, jsonl, json, parquet, arrow, csv, tsv)

FileFormat file_format(TextFormat format);
FileFormat file_format(RowFormat format);
TextFormat text_format(FileFormat format);
RowFormat row_format(FileFormat format);  // not of text
const char* name_of(FileFormat format);   // as data.format takes it
// Nothing for text and JSON.
std::optional<TableFormat> table_format_of(FileFormat format);

// Returns the format of a file's ending: "x.jsonl.gz" -> jsonl. Nothing for an ending of no format;
// .txt counts as none.
std::optional<FileFormat> format_of_ending(std::string_view path);
// ".jsonl", ".ndjson", ...; text: ".txt". The packed ones are not among them.
std::vector<std::string> endings_of(FileFormat format);
// "x.jsonl.gz" -> "x.jsonl".
std::string_view without_packing(std::string_view path);
// Recognises Parquet, Arrow, and a JSON array or object by the first bytes of a file of rows.
std::optional<FileFormat> format_of_bytes(std::string_view first);

}  // namespace d9d
