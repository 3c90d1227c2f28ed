#include "runtime/data/table/arrow_batches.hpp"

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>

#include <utility>

#include "runtime/data/table/arrow_parquet.hpp"

namespace d9d {
namespace {

constexpr std::string_view magic_of_file_layout = "ARROW1";

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

}  // namespace

TableSchema schema_of_table(const std::string& file, TableFormat format) {
  if (format == TableFormat::parquet) return schema_of_parquet(file);
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
    for_each_parquet_batch(file, columns, checked);
  } else {
    for_each_mapped_batch(map_table(file), file, columns, checked);
  }
}

}  // namespace d9d
