#include <algorithm>

#include "runtime/base/log.hpp"
#include "runtime/data/table/arrow_batches.hpp"
#include "runtime/data/table/arrow_values.hpp"
#include "runtime/data/table/table_readers.hpp"

namespace d9d {
namespace {

using Mapped = std::shared_ptr<arrow::io::MemoryMappedFile>;

class ArrowIdCorpus final : public TokenCorpus {
 public:
  ArrowIdCorpus(const std::vector<std::string>& files, const std::string& column,
                std::optional<std::int64_t> ids_below)
      : files_(files), ids_below_(ids_below) {
    for (std::size_t i = 0; i < files_.size(); ++i) add_file(i, column);
  }

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
      check(*batch, first, out.first(here));
      out = out.subspan(here);
      first += here;
      ++batch;
    }
  }
  bool has_unchecked_ids() const override { return ids_below_.has_value(); }

 private:
  struct Batch {
    std::uint64_t first_document;
    std::uint64_t first_token;
    std::size_t file;
    IntegerLists lists;
    std::shared_ptr<arrow::RecordBatch> kept;  // where its bytes are not the file's

    std::uint64_t tokens() const { return lists.begin_of(lists.rows()); }
  };

  void add_file(std::size_t index, const std::string& column) {
    const std::string& file = files_[index];
    const Mapped mapped = map_table(file);
    const auto bytes = taken(mapped->ReadAt(0, taken(mapped->GetSize(), file)), file);
    maps_.push_back(bytes);
    bool unpacked = false;
    column_of(*schema_of_table(file, TableFormat::arrow).columns, column, file, "data.ids_field");
    for_each_mapped_batch(mapped, file, {column}, [&](const auto& batch, std::uint64_t first) {
      const std::string where = fmt::format("{}: column \"{}\", rows from {}", file, column, first);
      require_ok(batch->Validate(), where);
      Batch added{num_documents_, num_tokens_, index, IntegerLists(*batch->column(0), where), nullptr};
      if (added.tokens() == 0) return;
      const bool is_mapped = added.lists.is_within(
          {reinterpret_cast<const std::byte*>(bytes->data()), static_cast<std::size_t>(bytes->size())});
      if (!is_mapped) added.kept = batch;
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

  void check(const Batch& batch, std::uint64_t first, std::span<const std::int64_t> ids) const {
    const auto is_good = [&](std::int64_t id) { return id >= 0 && (!ids_below_ || id < *ids_below_); };
    const auto bad = std::ranges::find_if_not(ids, is_good);
    if (bad == ids.end()) return;
    const auto place = first + static_cast<std::uint64_t>(bad - ids.begin()) - batch.first_token;
    D9D_REQUIRE(*bad >= 0, "{}: token {} of a batch is {}, expected 0 or more", files_[batch.file], place,
                *bad);
    throw Error(ErrorKind::input,
                fmt::format("{}: token {} of a batch is {}, but model_provider.model.vocab_size is {}; raise "
                            "it, or mend the file",
                            files_[batch.file], place, *bad, *ids_below_));
  }

  const std::vector<std::string> files_;
  const std::optional<std::int64_t> ids_below_;
  std::vector<std::shared_ptr<arrow::Buffer>> maps_;  // keep the files mapped
  std::vector<Batch> batches_;                        // of one token or more
  std::uint64_t num_documents_ = 0;
  std::uint64_t num_tokens_ = 0;
};

}  // namespace

std::shared_ptr<const TokenCorpus> arrow_tables::map_ids(const std::vector<std::string>& files,
                                                         const std::string& column,
                                                         std::optional<std::int64_t> ids_below) {
  return std::make_shared<ArrowIdCorpus>(files, column, ids_below);
}

}  // namespace d9d
