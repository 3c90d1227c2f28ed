#include "runtime/data/table/arrow_batches.hpp"
#include "runtime/data/table/arrow_csv.hpp"
#include "runtime/data/table/arrow_values.hpp"
#include "runtime/data/table/table_readers.hpp"

namespace d9d {
namespace {

class Rows {
 public:
  Rows(std::uint64_t first, std::uint64_t all) : first_(first), all_(all) {}
  TableRow at(std::uint64_t row) const {
    const std::uint64_t number = first_ + row;
    return {number, static_cast<double>(number + 1) / static_cast<double>(all_)};
  }

 private:
  const std::uint64_t first_;
  const std::uint64_t all_;
};

std::vector<std::string> those_in(const arrow::Schema& schema, const std::vector<std::string>& columns) {
  std::vector<std::string> out;
  for (const std::string& name : columns) {
    if (schema.GetFieldIndex(name) >= 0) out.push_back(name);
  }
  return out;
}

void read_row(const IntegerLists& lists, std::uint64_t row, std::vector<std::int64_t>& out) {
  out.resize(lists.begin_of(row + 1) - lists.begin_of(row));
  lists.read(lists.begin_of(row), out);
}

}  // namespace

void arrow_tables::for_each_text(const std::string& file, TableFormat format, const std::string& column,
                                 const UseTableText& use) {
  if (is_csv(format)) return for_each_csv_text(file, format, column, use);
  const TableSchema schema = schema_of_table(file, format);
  const arrow::DataType& type = *column_of(*schema.columns, column, file, "data.text_field").type();
  D9D_REQUIRE(is_text(type), "{}: the column \"{}\" is of the type {}, expected texts", file, column,
              type.ToString());
  for_each_batch(file, format, {column}, [&](const auto& batch, std::uint64_t first) {
    const arrow::Array& texts = *batch->column(0);
    const Rows rows(first, schema.rows);
    for (std::int64_t i = 0; i < texts.length(); ++i)
      use(text_value(texts, i), rows.at(static_cast<std::uint64_t>(i)));
  });
}

void arrow_tables::for_each_record(const std::string& file, TableFormat format,
                                   const std::vector<std::string>& columns, const UseTableRecord& use) {
  if (is_csv(format)) return for_each_csv_record(file, format, columns, use);
  const TableSchema schema = schema_of_table(file, format);
  const std::vector<std::string> there = those_in(*schema.columns, columns);
  if (there.empty() && !columns.empty()) column_of(*schema.columns, columns.front(), file, "data");
  for_each_batch(file, format, there, [&](const auto& batch, std::uint64_t first) {
    const Rows rows(first, schema.rows);
    for (std::int64_t i = 0; i < batch->num_rows(); ++i)
      use(record_of(*batch, i), rows.at(static_cast<std::uint64_t>(i)));
  });
}

void arrow_tables::for_each_ids(const std::string& file, TableFormat format, const IdColumns& columns,
                                const UseTableIds& use) {
  D9D_REQUIRE(!is_csv(format), "{}: a table of texts has no lists of integers", file);
  const TableSchema schema = schema_of_table(file, format);
  column_of(*schema.columns, columns.ids, file, "data.ids_field");
  std::vector<std::string> names{columns.ids};
  if (columns.labels) {
    column_of(*schema.columns, *columns.labels, file, "data.labels_field");
    names.push_back(*columns.labels);
  }
  const bool has_mask = columns.mask && schema.columns->GetFieldIndex(*columns.mask) >= 0;
  if (has_mask) names.push_back(*columns.mask);
  const auto lists_of = [&](const arrow::RecordBatch& batch, const std::string& name) {
    return IntegerLists(*batch.GetColumnByName(name), fmt::format("{}: column \"{}\"", file, name));
  };
  std::vector<std::int64_t> ids, labels, mask;
  for_each_batch(file, format, names, [&](const auto& batch, std::uint64_t first) {
    const Rows rows(first, schema.rows);
    const IntegerLists id_lists = lists_of(*batch, columns.ids);
    const IntegerLists label_lists = lists_of(*batch, columns.labels.value_or(columns.ids));
    const IntegerLists masks =
        has_mask ? IntegerLists(
                       *batch->GetColumnByName(*columns.mask),
                       fmt::format("{}: column \"{}\" (data.mask_field; null: none)", file, *columns.mask),
                       ListValues::flags)
                 : id_lists;
    for (std::uint64_t row = 0; row < id_lists.rows(); ++row) {
      read_row(id_lists, row, ids);
      if (columns.labels) read_row(label_lists, row, labels);
      if (has_mask) read_row(masks, row, mask);
      TableIds lists{ids, labels, {}};
      if (has_mask) lists.mask = mask;
      use(lists, rows.at(row));
    }
  });
}

std::vector<std::string> arrow_tables::columns(const std::string& file, TableFormat format) {
  return is_csv(format) ? columns_of_csv(file, format) : schema_of_table(file, format).columns->field_names();
}

TableOutline arrow_tables::outline(const std::string& file, TableFormat format) {
  if (is_csv(format)) return outline_of_csv(file, format);
  const TableSchema schema = schema_of_table(file, format);
  TableOutline outline{.rows = schema.rows, .pieces = schema.pieces};
  for (const auto& column : schema.columns->fields()) {
    outline.columns.emplace_back(column->name(), column->type()->ToString());
  }
  return outline;
}

}  // namespace d9d
