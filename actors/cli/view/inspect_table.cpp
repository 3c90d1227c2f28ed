#include "actors/cli/view/inspect_table.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/data/file/splits.hpp"
#include "runtime/data/file/table_files.hpp"

namespace d9d {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t rows_max = 1'000'000;
constexpr std::size_t characters_shown = 400;  // of a row

// Thrown to end the loop over the rows.
struct EnoughRows {};

void show_rows(const std::vector<std::string>& files, TableFormat format, std::int64_t wanted,
               Console& console) {
  std::int64_t shown = 0;
  try {
    for (const std::string& file : files) {
      for_each_table_record(file, format, {}, [&](const RowJson& record, const TableRow& row) {
        if (shown++ == wanted) throw EnoughRows();
        const std::string text = shown_json(record);
        const bool is_long = text.size() > characters_shown;
        console.out << fmt::format("\nrow {} of {}\n{}{}\n", row.number, file,
                                   text.substr(0, characters_shown), is_long ? " ..." : "");
      });
    }
  } catch (const EnoughRows&) {
    return;
  }
}

}  // namespace

std::optional<TableFormat> table_format_of_name(const std::string& name) {
  const auto of_ending = [](const fs::path& path) -> std::optional<TableFormat> {
    const auto format = format_of_ending(path.string());
    return format ? table_format_of(*format) : std::nullopt;
  };
  std::error_code unreadable;
  if (!fs::is_directory(name, unreadable)) return of_ending(name);
  if (fs::exists(fs::path(name) / "dataset_dict.json")) return TableFormat::arrow;
  for (const fs::directory_entry& entry : fs::directory_iterator(name)) {
    if (const auto format = of_ending(entry.path())) return format;
  }
  throw Error(ErrorKind::input,
              fmt::format("{} has no file that ends in .parquet, .arrow, .csv or .tsv; name one", name));
}

namespace {

FileFormat file_format_of(TableFormat table) {
  for (const FileFormat format : {FileFormat::parquet, FileFormat::arrow, FileFormat::csv}) {
    if (table_format_of(format) == table) return format;
  }
  return FileFormat::tsv;
}

const char* name_of_pieces(TableFormat format) {
  if (format == TableFormat::parquet) return "row group";
  return format == TableFormat::arrow ? "batch" : "block";
}

}  // namespace

int inspect_table(const Arguments& arguments, TableFormat format, Console& console) {
  const std::string& name = arguments.positional()[1];
  FileWish wish{.names = {name}, .format = file_format_of(format)};
  if (!fs::exists(fs::path(name) / "dataset_dict.json")) wish.split = all_splits;
  const auto files = find_data_files(wish).paths;
  TableOutline all;
  for (const std::string& file : files) {
    TableOutline outline = outline_of_table(file, format);
    D9D_REQUIRE(all.columns.empty() || outline.columns == all.columns, "{}: other columns than those of {}",
                file, files.front());
    all.rows += outline.rows;
    all.pieces += outline.pieces;
    all.columns = std::move(outline.columns);
  }
  console.out << fmt::format("{}: {} in {}, {}\n", name, counted(all.rows, "row"),
                             counted(files.size(), "file"), counted(all.pieces, name_of_pieces(format)));
  for (const auto& [column, type] : all.columns) console.out << fmt::format("  {}: {}\n", column, type);
  show_rows(files, format, arguments.integer("--documents", 0, rows_max).value_or(1), console);
  return 0;
}

}  // namespace d9d
