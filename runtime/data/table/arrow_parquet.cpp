#include "runtime/data/table/arrow_parquet.hpp"

#include <parquet/arrow/reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

namespace d9d {
namespace {

constexpr std::int64_t rows_at_once = 1024;  // of a row group

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

}  // namespace

void for_each_parquet_batch(const std::string& file, const std::vector<std::string>& columns,
                            const UseBatch& use) {
  without_exceptions(file, [&] {
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
  });
}

TableSchema schema_of_parquet(const std::string& file) {
  return without_exceptions(file, [&] {
    const auto reader = open_parquet(file);
    TableSchema schema;
    require_ok(reader->GetSchema(&schema.columns), file);
    schema.rows = static_cast<std::uint64_t>(reader->parquet_reader()->metadata()->num_rows());
    schema.pieces = static_cast<std::uint64_t>(reader->num_row_groups());
    return schema;
  });
}

}  // namespace d9d
