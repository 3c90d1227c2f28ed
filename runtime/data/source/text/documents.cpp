#include "runtime/data/source/text/documents.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/data/file/json_rows.hpp"
#include "runtime/data/source/text/unread_columns.hpp"
#include "runtime/data/table/tables.hpp"

namespace d9d {
namespace {

constexpr std::string_view blank_characters = " \t\r";

// A part of the file that is being read: what they all need to say where they are.
struct Place {
  const std::string& file;
  const TextBlock& block;
  std::uint64_t bytes_before = 0;  // of the files before it
  const UseDocument& use;

  // `end`: where in the text the document ends.
  void say(std::string_view document, std::uint64_t line, const char* end, bool is_file = false) const {
    use({document, {file, line, true}, is_file, bytes_before + block.bytes_up_to(end)});
  }
};

// Calls with each line without its end (\n or \r\n), and its number.
template <class Use>
void for_each_line(const TextBlock& block, Use&& use) {
  const std::string_view text = block.text;
  std::uint64_t number = block.first_line;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    use(line, number);
    begin = end + 1;
  }
}

const char* end_of(std::string_view text) {
  return text.data() + text.size();
}

void use_lines(const Place& place) {
  for_each_line(place.block, [&](std::string_view line, std::uint64_t number) {
    if (!line.empty()) place.say(line, number, end_of(line));
  });
}

void use_paragraphs(const Place& place) {
  std::string_view paragraph;
  std::uint64_t first = 0;
  const auto flush = [&] {
    if (!paragraph.empty()) place.say(paragraph, first, end_of(paragraph));
    paragraph = {};
  };
  for_each_line(place.block, [&](std::string_view line, std::uint64_t number) {
    if (line.find_first_not_of(blank_characters) == std::string_view::npos) return flush();
    if (paragraph.empty()) {
      first = number;
      paragraph = line;
    }
    paragraph = {paragraph.data(), static_cast<std::size_t>(end_of(line) - paragraph.data())};
  });
  flush();
}

void use_text(const std::string& file, DocumentUnit unit, std::uint64_t bytes_before,
              const UseDocument& use) {
  const auto in_blocks = [&](const WholePart& whole, void (*use_block)(const Place&)) {
    for_each_block(file, whole, [&](const TextBlock& block) { use_block({file, block, bytes_before, use}); });
  };
  switch (unit) {
    case DocumentUnit::file:
      return in_blocks(nothing_whole, [](const Place& place) {
        place.say(place.block.text, 1, end_of(place.block.text), true);
      });
    case DocumentUnit::paragraph:
      return in_blocks(whole_paragraphs, use_paragraphs);
    case DocumentUnit::line:
      return in_blocks(whole_lines, use_lines);
  }
}

// Counts rows, and the rows without a text.
struct RowCount {
  std::uint64_t all = 0, empty = 0;

  // Logs the counts of one file at its end and adds them to those of earlier files.
  void add_file(const RowCount& of_file, const std::string& file, const std::string& field) {
    if (of_file.all > 0 && of_file.all == of_file.empty) {
      return log::warn("data.files: {} is left out: none of its {} has a text under \"{}\" (data.text_field)",
                       file, counted(of_file.all, "row"), field);
    }
    all += of_file.all;
    empty += of_file.empty;
  }
  void say(const std::string& field) const {
    if (empty > 0)
      log::info("data.files: {} of {} have no text under \"{}\" and are left out", empty, counted(all, "row"),
                field);
  }
};

// Logs the counts of all files.
struct Told {
  RowCount rows;
  UnreadFields unread;
};

void use_json(const std::string& file, bool is_array, const std::string& field, std::uint64_t bytes_before,
              const UseDocument& use, Told& told) {
  RowCount rows;
  for_each_json_row(file, is_array, [&](const JsonRow& row) {
    for (const auto& [key, value] : row.object.items())
      if (key != field && !value.is_null()) told.unread.add_of_row(key);
    const auto found = row.object.find(field);
    const bool fits = found != row.object.end() && (found->is_string() || found->is_null());
    D9D_REQUIRE(fits, "{}: no text under \"{}\"; name the key with data.text_field (the row has {})",
                text_of(row.place), field, keys_of_row(row.object));
    ++rows.all;
    const std::string* const document = found->is_string() ? &found->get_ref<const std::string&>() : nullptr;
    if (document == nullptr || document->empty()) {
      ++rows.empty;
      return;
    }
    use({*document, row.place, false, bytes_before + row.bytes_read});
  });
  told.rows.add_file(rows, file, field);
}

void use_table(const std::string& file, TableFormat format, const std::string& column,
               std::uint64_t bytes_before, const UseDocument& use, Told& told) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(file, error);
  D9D_REQUIRE(!error, "cannot open {}: {}", file, error.message());
  RowCount rows;
  UnreadColumns left(file, format, {column}, told.unread);
  for_each_table_text(file, format, column, [&](std::string_view text, const TableRow& row) {
    ++rows.all;
    left.add_row();
    if (text.empty()) {
      ++rows.empty;
      return;
    }
    const auto read = static_cast<std::uint64_t>(row.read * static_cast<double>(bytes));
    use({text, {file, row.number, false}, false, bytes_before + read});
  });
  told.rows.add_file(rows, file, column);
}

}  // namespace

DataFiles find_files(const TextDataConfig& config) {
  const auto format = config.format ? std::optional(file_format(*config.format)) : std::nullopt;
  return find_data_files({config.files, format, FileFormat::text, config.split});
}

std::vector<std::string> files_of(const TextDataConfig& config) {
  return find_files(config).paths;
}

TextDataConfig with_found_files(TextDataConfig config) {
  DataFiles found = find_files(config);
  const FileFormat format = found.format;
  if (!config.format && format != FileFormat::text)
    log::info("data.files: read as {}, as their endings say; data.format says otherwise", name_of(format));
  config.files = std::move(found.paths);
  config.format = text_format(format);
  config.split.reset();
  return config;
}

void for_each_document(const TextDataConfig& config, const UseDocument& use) {
  std::uint64_t bytes_before = 0;
  Told told;
  const DataFiles files = find_files(config);
  for (const std::string& name : files.paths) {
    if (const auto table = table_format_of(files.format)) {
      use_table(name, *table, config.text_field, bytes_before, use, told);
    } else if (files.format == FileFormat::text) {
      use_text(name, config.document, bytes_before, use);
    } else {
      use_json(name, files.format == FileFormat::json, config.text_field, bytes_before, use, told);
    }
    std::error_code ignored;  // it was read
    bytes_before += std::filesystem::file_size(name, ignored);
  }
  told.rows.say(config.text_field);
  told.unread.say();
}

}  // namespace d9d
