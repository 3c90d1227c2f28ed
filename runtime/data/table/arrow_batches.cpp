#include "runtime/data/table/arrow_batches.hpp"

#include <arrow/io/interfaces.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace d9d {
namespace {

constexpr std::int64_t rows_at_once = 1024;  // of a row group of Parquet
constexpr std::string_view magic_of_file_layout = "ARROW1";

bool is_wanted(const std::vector<std::string>& columns, const std::string& name) {
  return columns.empty() || std::ranges::find(columns, name) != columns.end();
}

bool has_file_layout(arrow::io::MemoryMappedFile& mapped, const std::string& file) {
  const auto begin = taken(mapped.ReadAt(0, static_cast<std::int64_t>(magic_of_file_layout.size())), file);
  return std::string_view(*begin) == magic_of_file_layout;
}

arrow::ipc::IpcReadOptions reading_of(const arrow::Schema& schema, const std::vector<std::string>& columns) {
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.use_threads = false;
  for (int i = 0; i < schema.num_fields(); ++i) {
    if (is_wanted(columns, schema.field(i)->name())) options.included_fields.push_back(i);
  }
  return options;
}

using StreamReader = arrow::ipc::RecordBatchStreamReader;
using FileReader = arrow::ipc::RecordBatchFileReader;

std::shared_ptr<StreamReader> open_stream(const std::shared_ptr<arrow::io::MemoryMappedFile>& mapped,
                                          const arrow::ipc::IpcReadOptions& options,
                                          const std::string& file) {
  require_ok(mapped->Seek(0), file);
  return taken(StreamReader::Open(std::static_pointer_cast<arrow::io::InputStream>(mapped), options), file);
}

std::shared_ptr<FileReader> open_file(const std::shared_ptr<arrow::io::MemoryMappedFile>& mapped,
                                      const arrow::ipc::IpcReadOptions& options, const std::string& file) {
  return taken(FileReader::Open(std::static_pointer_cast<arrow::io::RandomAccessFile>(mapped), options),
               file);
}

std::shared_ptr<arrow::Schema> schema_of_mapped(const std::shared_ptr<arrow::io::MemoryMappedFile>& mapped,
                                                const std::string& file) {
  const auto defaults = arrow::ipc::IpcReadOptions::Defaults();
  return has_file_layout(*mapped, file) ? open_file(mapped, defaults, file)->schema()
                                        : open_stream(mapped, defaults, file)->schema();
}

std::string unreadable(const std::string& file, const std::string& why) {
  return fmt::format(
      "{}: {}; does pyarrow read this file? If not, write it anew, else in another compression", file, why);
}

// Parquet's library throws where a file is damaged, and returns a status elsewhere.
template <class Work>
auto without_exceptions(const std::string& file, Work&& work) {
  try {
    return work();
  } catch (const parquet::ParquetException& error) {
    throw Error(ErrorKind::input, unreadable(file, error.what()));
  }
}

std::unique_ptr<parquet::arrow::FileReader> open_parquet(const std::string& file) {
  parquet::ArrowReaderProperties reading(false);
  reading.set_batch_size(rows_at_once);
  reading.set_pre_buffer(false);
  parquet::arrow::FileReaderBuilder builder;
  require_ok(builder.Open(map_table(file)), file);
  return taken(builder.properties(reading)->Build(), file);
}

// Parquet counts the leaves of nested columns.
std::vector<int> leaves_of(const parquet::FileMetaData& metadata, const std::vector<std::string>& columns) {
  std::vector<int> leaves;
  for (int i = 0; i < metadata.num_columns(); ++i) {
    if (is_wanted(columns, metadata.schema()->Column(i)->path()->ToDotVector().front())) leaves.push_back(i);
  }
  return leaves;
}

void for_each_parquet_batch(const std::string& file, const std::vector<std::string>& columns,
                            const UseBatch& use) {
  const auto reader = open_parquet(file);
  const auto leaves = leaves_of(*reader->parquet_reader()->metadata(), columns);
  std::uint64_t first = 0;
  for (int group = 0; group < reader->num_row_groups(); ++group) {
    const auto batches = taken(reader->GetRecordBatchReader({group}, leaves), file);
    while (const auto batch = taken(batches->Next(), file)) {
      use(batch, first);
      first += static_cast<std::uint64_t>(batch->num_rows());
    }
  }
}

TableSchema schema_of_parquet(const std::string& file) {
  const auto reader = open_parquet(file);
  TableSchema schema;
  require_ok(reader->GetSchema(&schema.columns), file);
  schema.rows = static_cast<std::uint64_t>(reader->parquet_reader()->metadata()->num_rows());
  schema.pieces = static_cast<std::uint64_t>(reader->num_row_groups());
  return schema;
}

}  // namespace

void require_ok(const arrow::Status& status, const std::string& file) {
  if (status.ok()) return;
  if (status.IsOutOfMemory())
    throw Error(ErrorKind::environment, fmt::format("{}: {}", file, status.message()));
  throw Error(ErrorKind::input, unreadable(file, status.message()));
}

std::shared_ptr<arrow::io::MemoryMappedFile> map_table(const std::string& file) {
  std::error_code ignored;
  const auto kind = std::filesystem::status(file, ignored).type();
  D9D_REQUIRE(kind != std::filesystem::file_type::fifo,
              "{} is a pipe, expected a file: it is read more than once; write it to a file", file);
  return taken(arrow::io::MemoryMappedFile::Open(file, arrow::io::FileMode::READ), file);
}

TableSchema schema_of_table(const std::string& file, TableFormat format) {
  if (format == TableFormat::parquet) {
    return without_exceptions(file, [&] { return schema_of_parquet(file); });
  }
  const auto mapped = map_table(file);
  TableSchema schema{.columns = schema_of_mapped(mapped, file)};
  for_each_mapped_batch(mapped, file, {}, [&](const auto& batch, std::uint64_t) {
    schema.rows += static_cast<std::uint64_t>(batch->num_rows());
    ++schema.pieces;
  });
  return schema;
}

const arrow::Field& column_of(const arrow::Schema& schema, const std::string& name, const std::string& file,
                              std::string_view key) {
  const auto column = schema.GetFieldByName(name);
  if (column) return *schema.field(schema.GetFieldIndex(name));
  std::string names;
  for (const std::string& there : schema.field_names()) names += (names.empty() ? "" : ", ") + there;
  throw Error(ErrorKind::input, fmt::format("{}: no column \"{}\"; name one of {} with {}", file, name,
                                            names.empty() ? "its columns" : names, key));
}

void for_each_mapped_batch(const std::shared_ptr<arrow::io::MemoryMappedFile>& mapped,
                           const std::string& file, const std::vector<std::string>& columns,
                           const UseBatch& use) {
  auto options = reading_of(*schema_of_mapped(mapped, file), columns);
  std::uint64_t first = 0;
  const auto give = [&](const std::shared_ptr<arrow::RecordBatch>& batch) {
    use(batch, first);
    first += static_cast<std::uint64_t>(batch->num_rows());
  };
  if (has_file_layout(*mapped, file)) {
    // Asked for some columns alone, this reader copies them.
    const std::vector<int> wanted = std::exchange(options.included_fields, {});
    const auto reader = open_file(mapped, options, file);
    for (int i = 0; i < reader->num_record_batches(); ++i) {
      give(taken(taken(reader->ReadRecordBatch(i), file)->SelectColumns(wanted), file));
    }
    return;
  }
  const auto reader = open_stream(mapped, options, file);
  while (const auto batch = taken(reader->Next(), file)) give(batch);
}

void for_each_batch(const std::string& file, TableFormat format, const std::vector<std::string>& columns,
                    const UseBatch& use) {
  // Offsets and UTF-8 as well: what is read here came from outside.
  const UseBatch checked = [&](const auto& batch, std::uint64_t first) {
    require_ok(batch->ValidateFull(), fmt::format("{}: rows from {}", file, first));
    use(batch, first);
  };
  if (format == TableFormat::parquet) {
    without_exceptions(file, [&] { for_each_parquet_batch(file, columns, checked); });
  } else {
    for_each_mapped_batch(map_table(file), file, columns, checked);
  }
}

}  // namespace d9d
