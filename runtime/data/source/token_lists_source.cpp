#include "runtime/data/source/token_lists_source.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/base/config/decode.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/data/corpus/chosen_documents.hpp"
#include "runtime/data/file/json_rows.hpp"
#include "runtime/data/source/text/records.hpp"
#include "runtime/data/source/text/token_cache.hpp"
#include "runtime/data/source/text/unread_columns.hpp"

namespace d9d {
namespace {

constexpr std::int64_t all_ids = std::int64_t{std::numeric_limits<std::int32_t>::max()} + 1;

struct ListRow {
  std::span<const std::int64_t> ids;
  std::span<const std::int64_t> labels;
  std::optional<std::span<const std::int64_t>> mask;
  std::string where;
  std::uint64_t bytes_read;
  RowPlace place;
};
using UseListRow = std::function<void(const ListRow&)>;

// A value that is no list, in words.
std::string said(const RowJson& value) {
  constexpr std::size_t length_max = 60;
  std::string text = value.dump(-1, ' ', true, RowJson::error_handler_t::replace);
  if (text.size() > length_max) text = text.substr(0, length_max) + "...";
  if (value.is_string()) return "the text " + text;
  if (value.is_object()) return "the object " + text;
  return text;
}

std::vector<std::int64_t> integers_at(const Record& row, const std::string& key, std::string_view named_by) {
  const auto found = row.columns.find(key);
  D9D_REQUIRE(found != row.columns.end(), "{}: no list under \"{}\"; name the key with {} (the row has {})",
              row.where, key, named_by, keys_of_row(row.columns));
  D9D_REQUIRE(found->is_array(),
              "{}: \"{}\" is {}, expected a list of integers; mend the file, or name another key with {}{}",
              row.where, key, said(*found), named_by,
              found->is_string() ? " (texts are read by `source: text`)" : "");
  std::vector<std::int64_t> out;
  for (const RowJson& value : *found) {
    D9D_REQUIRE(value.is_number_integer(), "{}: \"{}\" has {}, expected integers", row.where, key,
                json_text(value));
    out.push_back(value.get<std::int64_t>());
  }
  return out;
}

std::optional<std::vector<std::int64_t>> mask_of(const Record& row, const TokenListsDataConfig& config) {
  if (!config.mask_field) return std::nullopt;
  const auto found = row.columns.find(*config.mask_field);
  if (found == row.columns.end() || found->is_null()) return std::nullopt;
  if (!found->is_array() ||
      !std::ranges::all_of(*found, [](const auto& value) { return value.is_boolean(); }))
    return integers_at(row, *config.mask_field, "data.mask_field");
  std::vector<std::int64_t> mask;
  for (const RowJson& value : *found) mask.push_back(value.get<bool>() ? 1 : 0);
  return mask;
}

// The columns that a section of this kind reads.
std::vector<std::string> columns_read(const TokenListsDataConfig& config) {
  std::vector<std::string> columns{config.ids_field};
  if (config.labels_field) columns.push_back(*config.labels_field);
  if (config.mask_field) columns.push_back(*config.mask_field);
  return columns;
}

void use_json_lists(const TokenListsDataConfig& config, const UseListRow& use, UnreadFields& unread) {
  const std::vector<std::string> columns = columns_read(config);
  for_each_record(config.files, config.format, {}, [&](const Record& row) {
    for (const auto& [key, value] : row.columns.items())
      if (std::ranges::find(columns, key) == columns.end() && !value.is_null()) unread.add_of_row(key);
    const auto ids = integers_at(row, config.ids_field, "data.ids_field");
    std::vector<std::int64_t> labels;
    if (config.labels_field) labels = integers_at(row, *config.labels_field, "data.labels_field");
    ListRow made{ids, labels, {}, row.where, row.bytes_read, row.place};
    const std::optional<std::vector<std::int64_t>> mask = mask_of(row, config);
    if (mask) made.mask = *mask;
    use(made);
  });
}

void use_table_lists(const TokenListsDataConfig& config, TableFormat format, const UseListRow& use,
                     UnreadFields& unread) {
  std::uint64_t bytes_before = 0;
  for (const std::string& file : config.files) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(file, error);
    D9D_REQUIRE(!error, "cannot open {}: {}", file, error.message());
    UnreadColumns left(file, format, columns_read(config), unread);
    for_each_table_ids(
        file, format, {config.ids_field, config.labels_field, config.mask_field},
        [&](const TableIds& lists, const TableRow& row) {
          const auto read = static_cast<std::uint64_t>(row.read * static_cast<double>(bytes));
          const RowPlace place{file, row.number, false};
          left.add_row();
          use({lists.ids, lists.labels, lists.mask, text_of(place), bytes_before + read, place});
        });
    bytes_before += bytes;
  }
}

// The row without the padding at its ends.
ListRow without_padding(ListRow row, const TokenListsDataConfig& config) {
  if (!row.mask) return row;
  const std::span<const std::int64_t> mask = *row.mask;
  const std::string& name = *config.mask_field;
  D9D_REQUIRE(mask.size() == row.ids.size(), "{}: {} ids and {} values of \"{}\", expected as many",
              row.where, row.ids.size(), mask.size(), name);
  D9D_REQUIRE(!config.labels_field || row.labels.size() == row.ids.size(),
              "{}: {} ids and {} labels, expected as many", row.where, row.ids.size(), row.labels.size());
  const auto is_token = [](std::int64_t value) { return value != 0; };
  const auto begin = std::ranges::find_if(mask, is_token) - mask.begin();
  std::ptrdiff_t end = std::ssize(mask);
  while (end > begin && mask[static_cast<std::size_t>(end - 1)] == 0) --end;
  for (std::ptrdiff_t i = begin; i < end; ++i) {
    const std::int64_t value = mask[static_cast<std::size_t>(i)];
    D9D_REQUIRE(
        value == 1,
        "{}: \"{}\" is {} at {}, expected 1 for tokens, and 0 for padding before and after them alone; "
        "mend the file, or set data.mask_field to null to take all ids for tokens",
        row.where, name, value, i);
  }
  const auto first = static_cast<std::size_t>(begin), count = static_cast<std::size_t>(end - begin);
  row.ids = row.ids.subspan(first, count);
  if (config.labels_field) row.labels = row.labels.subspan(first, count);
  return row;
}

void narrow(const ListRow& row, std::optional<std::int64_t> ids_below, std::vector<std::int32_t>& out) {
  out.clear();
  for (const std::int64_t id : row.ids) {
    D9D_REQUIRE(id >= 0 && id < all_ids, "{}: token {} is {}, expected 0 or more and below 2^31", row.where,
                out.size(), id);
    D9D_REQUIRE(!ids_below || id < *ids_below,
                "{}: token {} is {}, but model_provider.model.vocab_size is {}; raise it, or mend the file",
                row.where, out.size(), id, *ids_below);
    out.push_back(static_cast<std::int32_t>(id));
  }
}

void counted_by(const ListRow& row, std::vector<bool>& out) {
  D9D_REQUIRE(row.labels.size() == row.ids.size(), "{}: {} ids and {} labels, expected as many", row.where,
              row.ids.size(), row.labels.size());
  out.clear();
  for (std::size_t i = 0; i < row.ids.size(); ++i) {
    D9D_REQUIRE(row.labels[i] == ignored_label || row.labels[i] == row.ids[i],
                "{}: label {} is {} beside the id {}, expected the id or {}; labels are not shifted",
                row.where, i, row.labels[i], row.ids[i], ignored_label);
    out.push_back(row.labels[i] != ignored_label);
  }
}

void make_lists(const TokenListsDataConfig& config, std::optional<std::int64_t> ids_below,
                const UseMadeDocument& use) {
  std::vector<std::int32_t> ids;
  std::vector<bool> counted;
  const UseListRow use_row = [&](const ListRow& given) {
    const ListRow row = without_padding(given, config);
    if (row.ids.empty()) return;
    narrow(row, ids_below, ids);
    if (config.labels_field) counted_by(row, counted);
    use({ids, config.labels_field ? &counted : nullptr, row.bytes_read, row.place});
  };
  const auto table = table_format_of(*config.format);
  UnreadFields unread;
  if (table == TableFormat::parquet || table == TableFormat::arrow) {
    use_table_lists(config, *table, use_row, unread);
  } else {
    use_json_lists(config, use_row, unread);
  }
  unread.say();
}

void say_unread(const TokenListsDataConfig& config) {
  UnreadFields unread;
  const std::vector<std::string> read = columns_read(config);
  for (const std::string& file : config.files) {
    const TableOutline outline = outline_of_table(file, TableFormat::arrow);
    for (const auto& [name, type] : outline.columns)
      if (std::ranges::find(read, name) == read.end()) unread.add_of_rows(name, outline.rows);
  }
  unread.say();
}

std::shared_ptr<const TokenCorpus> read_lists(const TokenListsDataConfig& given,
                                              std::optional<std::int64_t> ids_below,
                                              const CorpusWishes& wishes) {
  const TokenListsDataConfig config = with_found_files(given, RowFormat::arrow);
  const TokenRecipe recipe = token_lists_recipe(config, ids_below, wishes);
  if (config.format != RowFormat::arrow || config.labels_field) return corpus_of(recipe);
  auto found = find_tokens(recipe);
  if (!found) {
    found = map_arrow_ids(recipe.files, config.ids_field, ids_below, config.mask_field);
    if (found) say_unread(config);
  }
  if (!found) return corpus_of(recipe);
  return chosen_documents(std::move(found), recipe.rows);
}

}  // namespace

TokenRecipe token_lists_recipe(const TokenListsDataConfig& given, std::optional<std::int64_t> ids_below,
                               const CorpusWishes& wishes) {
  const TokenListsDataConfig config = with_found_files(given, RowFormat::arrow);
  const config::Json all = config::encode(config);
  config::Json keys = {{"source", "token_lists"}};
  for (const char* key : {"format", "ids_field", "labels_field", "mask_field"}) keys[key] = all.at(key);
  return {.cache = config.cache,
          .files = config.files,
          .keys = std::move(keys),
          .vocab_size = ids_below.value_or(all_ids),
          .ids_below = ids_below,
          .some_count = config.labels_field.has_value(),
          .rows = row_choice_of(config),
          .wishes = wishes,
          .make = [config, ids_below](const UseMadeDocument& use) { make_lists(config, ids_below, use); }};
}

TokenListsSource::TokenListsSource(const TokenListsDataConfig& config, std::optional<std::int64_t> ids_below,
                                   const SampleForm& form, const CorpusWishes& wishes)
    : CorpusSource(read_lists(config, ids_below, wishes),
                   {.sequence_length = config.sequence_length,
                    .samples = config.samples,
                    .shuffle = config.shuffle,
                    .seed = static_cast<std::uint64_t>(config.seed.value_or(0)),
                    .vocab_size = ids_below,
                    .what = "data.files",
                    .form = form}) {}

}  // namespace d9d
