#include <algorithm>

#include "runtime/base/log.hpp"
#include "runtime/data/corpus/checked_ids.hpp"
#include "runtime/data/table/arrow_batches.hpp"
#include "runtime/data/table/arrow_values.hpp"
#include "runtime/data/table/table_readers.hpp"

namespace d9d {
namespace {

constexpr std::uint64_t looked_at_first = std::uint64_t{1} << 24;  // values of a mask

using Mapped = std::shared_ptr<arrow::io::MemoryMappedFile>;

class ArrowIdCorpus final : public TokenCorpus {
 public:
  ArrowIdCorpus(const std::vector<std::string>& files, const std::string& column,
                std::optional<std::int64_t> ids_below, const std::optional<std::string>& mask)
      : files_(files), ids_below_(ids_below), mask_(mask) {
    for (std::size_t i = 0; i < files_.size() && !is_padded_; ++i) add_file(i, column);
  }

  // Among the first ids.
  bool is_padded() const { return is_padded_; }

  std::uint64_t num_tokens() const override { return num_tokens_; }
  std::uint64_t num_documents() const override { return num_documents_; }
  std::uint64_t begin_of(std::uint64_t document) const override {
    D9D_CHECK(document <= num_documents_, "document {} of {}", document, num_documents_);
    if (document == num_documents_) return num_tokens_;
    const Batch& batch = *std::prev(std::ranges::upper_bound(batches_, document, {}, &Batch::first_document));
    return batch.first_token + batch.lists.begin_of(document - batch.first_document);
  }
  void read(std::uint64_t first, std::span<std::int64_t> out) const override {
    D9D_CHECK(first + out.size() <= num_tokens_, "tokens {} to {} of {}", first, first + out.size(),
              num_tokens_);
    if (out.empty()) return;
    auto batch = std::prev(std::ranges::upper_bound(batches_, first, {}, &Batch::first_token));
    while (!out.empty()) {
      const std::uint64_t skipped = first - batch->first_token;
      const std::uint64_t here = std::min<std::uint64_t>(out.size(), batch->tokens() - skipped);
      batch->lists.read(skipped, out.first(here));
      require_ids(*this, first, out.first(here), ids_below_, files_[batch->file]);
      if (batch->mask) require_tokens(*batch, skipped, here);
      out = out.subspan(here);
      first += here;
      ++batch;
    }
  }
  bool has_unchecked_ids() const override { return ids_below_.has_value(); }
  std::optional<RowPlace> place_of(std::uint64_t document) const override {
    if (document >= num_documents_) return std::nullopt;
    const Batch& batch = *std::prev(std::ranges::upper_bound(batches_, document, {}, &Batch::first_document));
    return RowPlace{files_[batch.file], batch.first_row + (document - batch.first_document), false};
  }

 private:
  struct Batch {
    std::uint64_t first_document;
    std::uint64_t first_token;
    std::size_t file;
    std::uint64_t first_row;  // in the file
    IntegerLists lists;
    std::shared_ptr<arrow::RecordBatch> kept;  // where its bytes are not the file's
    std::optional<IntegerLists> mask{};

    std::uint64_t tokens() const { return lists.begin_of(lists.rows()); }
  };

  void add_file(std::size_t index, const std::string& column) {
    const std::string& file = files_[index];
    const Mapped mapped = map_table(file);
    const auto bytes = taken(mapped->ReadAt(0, taken(mapped->GetSize(), file)), file);
    maps_.push_back(bytes);
    bool unpacked = false;
    const TableSchema schema = schema_of_table(file, TableFormat::arrow);
    column_of(*schema.columns, column, file, "data.ids_field");
    const bool has_mask = mask_ && schema.columns->GetFieldIndex(*mask_) >= 0;
    std::vector<std::string> names{column};
    if (has_mask) names.push_back(*mask_);
    for_each_mapped_batch(mapped, file, names, [&](const auto& batch, std::uint64_t first) {
      const std::string where = fmt::format("{}: column \"{}\", rows from {}", file, column, first);
      require_ok(batch->Validate(), where);
      Batch added{
          num_documents_, num_tokens_, index, first, IntegerLists(*batch->GetColumnByName(column), where),
          nullptr};
      if (added.tokens() == 0) return;
      const auto is_in_file = [&bytes](const IntegerLists& lists) {
        return lists.is_within(
            {reinterpret_cast<const std::byte*>(bytes->data()), static_cast<std::size_t>(bytes->size())});
      };
      const bool is_mapped = is_in_file(added.lists);
      if (has_mask) add_mask(*batch, where, added);
      if (!is_mapped || (has_mask && !is_in_file(*added.mask))) added.kept = batch;
      unpacked = unpacked || !is_mapped;
      num_documents_ += added.lists.rows();
      num_tokens_ += added.tokens();
      batches_.push_back(std::move(added));
    });
    if (unpacked) {
      log::warn(
          "data.files: {} is compressed, so its ids are kept in memory; `d9d-node data prepare` with "
          "data.cache makes files of them that are mapped",
          file);
    }
  }

  void add_mask(const arrow::RecordBatch& batch, const std::string& where, Batch& added) {
    added.mask.emplace(*batch.GetColumnByName(*mask_),
                       fmt::format("{}, \"{}\" (data.mask_field; null: none)", where, *mask_),
                       ListValues::flags);
    D9D_REQUIRE(added.mask->rows() == added.lists.rows() &&
                    added.mask->begin_of(added.mask->rows()) == added.tokens(),
                "{}: \"{}\" has {} values, expected {}: one for each id (data.mask_field)", where, *mask_,
                added.mask->begin_of(added.mask->rows()), added.tokens());
    const std::uint64_t count =
        std::min(added.tokens(), looked_at_first - std::min(looked_at_first, num_tokens_));
    is_padded_ = is_padded_ || first_padding(*added.mask, 0, count) < count;
  }

  // The place of the first 0 among `count` values; `count` where there is none.
  static std::uint64_t first_padding(const IntegerLists& mask, std::uint64_t first, std::uint64_t count) {
    std::vector<std::int64_t> values;
    for (std::uint64_t done = 0; done < count; done += values.size()) {
      values.resize(std::min<std::uint64_t>(count - done, 1 << 16));
      mask.read(first + done, values);
      const auto found = std::ranges::find(values, 0);
      if (found != values.end()) return done + static_cast<std::uint64_t>(found - values.begin());
    }
    return count;
  }

  void require_tokens(const Batch& batch, std::uint64_t first, std::uint64_t count) const {
    const std::uint64_t place = first_padding(*batch.mask, first, count);
    D9D_REQUIRE(place == count,
                "{} is padding (\"{}\" is 0), and the first rows have none; make files without it with "
                "data.cache and `d9d-node data prepare`, or set data.mask_field to null to train on it",
                place_of_token(*this, batch.first_token + first + place, files_[batch.file]), *mask_);
  }

  const std::vector<std::string> files_;
  const std::optional<std::int64_t> ids_below_;
  const std::optional<std::string> mask_;
  bool is_padded_ = false;
  std::vector<std::shared_ptr<arrow::Buffer>> maps_;  // keep the files mapped
  std::vector<Batch> batches_;                        // of one token or more
  std::uint64_t num_documents_ = 0;
  std::uint64_t num_tokens_ = 0;
};

}  // namespace

std::shared_ptr<const TokenCorpus> arrow_tables::map_ids(const std::vector<std::string>& files,
                                                         const std::string& column,
                                                         std::optional<std::int64_t> ids_below,
                                                         const std::optional<std::string>& mask) {
  auto corpus = std::make_shared<ArrowIdCorpus>(files, column, ids_below, mask);
  return corpus->is_padded() ? nullptr : std::move(corpus);
}

}  // namespace d9d
