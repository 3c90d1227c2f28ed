#include "runtime/data/table/arrow_csv.hpp"

#include <arrow/buffer.h>
#include <arrow/csv/options.h>
#include <arrow/csv/reader.h>
#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "runtime/data/file/decoded_file.hpp"
#include "runtime/data/file/text_blocks.hpp"
#include "runtime/data/table/arrow_batches.hpp"
#include "runtime/data/table/arrow_values.hpp"

namespace d9d {
namespace {

constexpr std::int32_t block_bytes = 16 << 20;  // a row has less

// Our unpacking as Arrow's stream.
class DecodedStream final : public arrow::io::InputStream {
 public:
  explicit DecodedStream(const std::string& file) : file_(file) {}

  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  arrow::Result<std::int64_t> Tell() const override { return at_; }
  arrow::Result<std::int64_t> Read(std::int64_t size, void* out) override {
    try {
      const std::size_t read = file_.read({static_cast<char*>(out), static_cast<std::size_t>(size)});
      at_ += static_cast<std::int64_t>(read);
      const std::uint64_t all = file_.packed_size();
      share_ = all == 0 ? 1 : static_cast<double>(file_.packed_read()) / static_cast<double>(all);
      return static_cast<std::int64_t>(read);
    } catch (const Error& error) {
      failure_ = error.what();
      return arrow::Status::IOError(failure_);
    }
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t size) override {
    ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateResizableBuffer(size));
    ARROW_ASSIGN_OR_RAISE(const std::int64_t read, Read(size, buffer->mutable_data()));
    ARROW_RETURN_NOT_OK(buffer->Resize(read));
    return std::shared_ptr<arrow::Buffer>(std::move(buffer));
  }

  double share_read() const { return share_; }
  const std::string& failure() const { return failure_; }

 private:
  DecodedFile file_;
  std::int64_t at_ = 0;
  bool closed_ = false;
  std::atomic<double> share_ = 0;  // Arrow reads ahead in a thread of its own
  std::string failure_;            // of ours, which names the file
};

void require_text_begin(const std::string& name) {
  DecodedFile file(name);
  std::string first(4096, '\0');
  first.resize(file.read(first));
  const std::string kind = binary_kind(first);
  D9D_REQUIRE(kind.empty(), "{}: expected text, but it is {}", name, kind);
}

class CsvReader {
 public:
  // With the columns of these names, or all.
  CsvReader(std::string file, TableFormat format) : file_(std::move(file)), format_(format) {
    require_text_begin(file_);
    open({});
    const auto schema = reader_->schema();
    names_ = schema->field_names();
  }

  const std::vector<std::string>& names() const { return names_; }

  void require_column(const std::string& name, std::string_view key) const {
    const auto count = std::ranges::count(names_, name);
    D9D_REQUIRE(count < 2, "{}: {} columns have the name \"{}\"", file_, count, name);
    std::string there;
    for (const std::string& each : names_) there += (there.empty() ? "" : ", ") + each;
    D9D_REQUIRE(count == 1,
                "{}: no column \"{}\"; name one of {} with {} (the first line has the names, parted by {})",
                file_, name, there, key,
                format_ == TableFormat::csv ? "commas: format: csv" : "tabs: format: tsv");
  }

  using UseCsvBatch = std::function<void(const arrow::RecordBatch& batch, std::uint64_t first, double share)>;
  void for_each_batch(const std::vector<std::string>& columns, const UseCsvBatch& use) {
    open(columns);
    std::uint64_t first = 0;
    while (true) {
      std::shared_ptr<arrow::RecordBatch> batch;
      require(reader_->ReadNext(&batch));
      if (!batch) return;
      use(*batch, first, stream_->share_read());
      first += static_cast<std::uint64_t>(batch->num_rows());
    }
  }

 private:
  void require(const arrow::Status& status) const {
    if (status.ok()) return;
    if (!stream_->failure().empty()) throw Error(ErrorKind::input, stream_->failure());
    const std::string hint = status.message().find("straddling") != std::string::npos
                                 ? "; a quote that is never closed, or a row of more than 16 MB"
                                 : "";
    throw Error(ErrorKind::input, fmt::format("{}: {}{}", file_, status.message(), hint));
  }

  void open(const std::vector<std::string>& columns) {
    stream_ = std::make_shared<DecodedStream>(file_);
    auto reading = arrow::csv::ReadOptions::Defaults();
    reading.use_threads = false;
    reading.block_size = block_bytes;
    auto parsing = arrow::csv::ParseOptions::Defaults();
    parsing.delimiter = format_ == TableFormat::csv ? ',' : '\t';
    parsing.newlines_in_values = true;
    auto converting = arrow::csv::ConvertOptions::Defaults();
    converting.include_columns = columns;
    for (const std::string& name : names_) converting.column_types[name] = arrow::utf8();
    converting.strings_can_be_null = false;
    auto reader = arrow::csv::StreamingReader::Make(arrow::io::default_io_context(), stream_, reading,
                                                    parsing, converting);
    require(reader.status());
    reader_ = std::move(reader).ValueUnsafe();
  }

  const std::string file_;
  const TableFormat format_;
  std::vector<std::string> names_;
  std::shared_ptr<DecodedStream> stream_;
  std::shared_ptr<arrow::csv::StreamingReader> reader_;
};

}  // namespace

bool is_csv(TableFormat format) {
  return format == TableFormat::csv || format == TableFormat::tsv;
}

void for_each_csv_text(const std::string& file, TableFormat format, const std::string& column,
                       const UseTableText& use) {
  CsvReader reader(file, format);
  reader.require_column(column, "data.text_field");
  reader.for_each_batch({column}, [&](const arrow::RecordBatch& batch, std::uint64_t first, double share) {
    for (std::int64_t i = 0; i < batch.num_rows(); ++i)
      use(text_value(*batch.column(0), i), {first + static_cast<std::uint64_t>(i), share});
  });
}

void for_each_csv_record(const std::string& file, TableFormat format, const std::vector<std::string>& columns,
                         const UseTableRecord& use) {
  CsvReader reader(file, format);
  std::vector<std::string> there;
  for (const std::string& name : columns) {
    if (std::ranges::find(reader.names(), name) == reader.names().end()) continue;
    reader.require_column(name, "data");
    there.push_back(name);
  }
  if (there.empty() && !columns.empty()) reader.require_column(columns.front(), "data");
  reader.for_each_batch(there, [&](const arrow::RecordBatch& batch, std::uint64_t first, double share) {
    for (std::int64_t i = 0; i < batch.num_rows(); ++i)
      use(record_of(batch, i), {first + static_cast<std::uint64_t>(i), share});
  });
}

std::vector<std::string> columns_of_csv(const std::string& file, TableFormat format) {
  return CsvReader(file, format).names();
}

TableOutline outline_of_csv(const std::string& file, TableFormat format) {
  CsvReader reader(file, format);
  TableOutline outline;
  for (const std::string& name : reader.names()) outline.columns.emplace_back(name, "string");
  reader.for_each_batch({}, [&](const arrow::RecordBatch& batch, std::uint64_t, double) {
    outline.rows += static_cast<std::uint64_t>(batch.num_rows());
    ++outline.pieces;
  });
  return outline;
}

}  // namespace d9d
