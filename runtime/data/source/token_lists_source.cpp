#include "runtime/data/source/token_lists_source.hpp"

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/base/config/decode.hpp"
#include "runtime/base/error.hpp"
#include "runtime/data/source/records.hpp"
#include "runtime/data/source/token_cache.hpp"

namespace d9d {
namespace {

constexpr std::int64_t all_ids = std::int64_t{std::numeric_limits<std::int32_t>::max()} + 1;

struct ListRow {
  std::span<const std::int64_t> ids;
  std::span<const std::int64_t> labels;
  std::string where;
  std::uint64_t bytes_read;
};
using UseListRow = std::function<void(const ListRow&)>;

std::vector<std::int64_t> integers_at(const Record& row, const std::string& key, std::string_view named_by) {
  const auto found = row.columns.find(key);
  D9D_REQUIRE(found != row.columns.end() && found->is_array(),
              "{}: no list under \"{}\"; name the key with {}", row.where, key, named_by);
  std::vector<std::int64_t> out;
  for (const RowJson& value : *found) {
    D9D_REQUIRE(value.is_number_integer(), "{}: \"{}\" has {}, expected integers", row.where, key,
                value.dump());
    out.push_back(value.get<std::int64_t>());
  }
  return out;
}

void use_json_lists(const TokenListsDataConfig& config, const UseListRow& use) {
  for_each_record(config.files, config.format, {}, [&](const Record& row) {
    const auto ids = integers_at(row, config.ids_field, "data.ids_field");
    std::vector<std::int64_t> labels;
    if (config.labels_field) labels = integers_at(row, *config.labels_field, "data.labels_field");
    use({ids, labels, row.where, row.bytes_read});
  });
}

void use_table_lists(const TokenListsDataConfig& config, TableFormat format, const UseListRow& use) {
  std::uint64_t bytes_before = 0;
  for (const std::string& file : files_of(config.files, config.format)) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(file, error);
    D9D_REQUIRE(!error, "cannot open {}: {}", file, error.message());
    for_each_table_ids(
        file, format, {config.ids_field, config.labels_field},
        [&](std::span<const std::int64_t> ids, std::span<const std::int64_t> labels, const TableRow& row) {
          const auto read = static_cast<std::uint64_t>(row.read * static_cast<double>(bytes));
          use({ids, labels, fmt::format("{}, row {}", file, row.number), bytes_before + read});
        });
    bytes_before += bytes;
  }
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
  const UseListRow use_row = [&](const ListRow& row) {
    if (row.ids.empty()) return;
    narrow(row, ids_below, ids);
    if (config.labels_field) counted_by(row, counted);
    use({ids, config.labels_field ? &counted : nullptr, row.bytes_read});
  };
  if (const auto table = table_format_of(config.format)) return use_table_lists(config, *table, use_row);
  use_json_lists(config, use_row);
}

std::shared_ptr<const TokenCorpus> read_lists(const TokenListsDataConfig& config,
                                              std::optional<std::int64_t> ids_below) {
  const TokenRecipe recipe = token_lists_recipe(config, ids_below);
  if (config.format != RowFormat::arrow || config.labels_field) return corpus_of(recipe);
  if (auto cached = find_tokens(recipe)) return cached;
  return map_arrow_ids(recipe.files, config.ids_field, ids_below);
}

}  // namespace

TokenRecipe token_lists_recipe(const TokenListsDataConfig& config, std::optional<std::int64_t> ids_below) {
  const config::Json all = config::encode(config);
  config::Json keys = {{"source", "token_lists"}};
  for (const char* key : {"format", "ids_field", "labels_field"}) keys[key] = all.at(key);
  return {.cache = config.cache,
          .files = files_of(config.files, config.format),
          .keys = std::move(keys),
          .vocab_size = ids_below.value_or(all_ids),
          .ids_below = ids_below,
          .some_count = config.labels_field.has_value(),
          .make = [config, ids_below](const UseMadeDocument& use) { make_lists(config, ids_below, use); }};
}

TokenListsSource::TokenListsSource(const TokenListsDataConfig& config, std::optional<std::int64_t> ids_below)
    : samples_(read_lists(config, ids_below), {.sequence_length = config.sequence_length,
                                               .samples = config.samples,
                                               .shuffle = config.shuffle,
                                               .seed = static_cast<std::uint64_t>(config.seed.value_or(0)),
                                               .vocab_size = ids_below,
                                               .what = "data.files"}) {}

}  // namespace d9d
