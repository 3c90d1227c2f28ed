#include "runtime/data/corpus/row_files.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/base/file/mapped_file.hpp"
#include "runtime/data/corpus/checked_ids.hpp"
#include "runtime/data/corpus/synced_file.hpp"

namespace d9d {
namespace {

// The layout of a record in the file.
struct Stretch {
  std::uint64_t first = 0;   // document
  std::uint64_t number = 0;  // its row or line
  std::uint32_t file = 0;
  std::uint32_t is_line = 0;
};
static_assert(sizeof(Stretch) == 24);

std::string rows_path(const std::string& prefix) {
  return prefix + ".rows";
}

class RowFiles final : public TokenCorpus {
 public:
  RowFiles(std::shared_ptr<const TokenCorpus> tokens, const std::string& prefix,
           std::vector<std::string> files, std::optional<std::int64_t> ids_below)
      : tokens_(std::move(tokens)), name_(prefix + ".bin"), files_(std::move(files)), ids_below_(ids_below) {
    const std::string path = rows_path(prefix);
    if (!std::filesystem::exists(path)) return;
    stretches_.emplace(path);
    const std::size_t bytes = stretches_->bytes().size();
    D9D_REQUIRE(bytes % sizeof(Stretch) == 0, "{}: {} bytes, expected a multiple of {}; make it anew", path,
                bytes, sizeof(Stretch));
    for (std::uint64_t i = 0; i < count(); ++i) {
      const Stretch stretch = at(i);
      const std::uint64_t before = i == 0 ? 0 : at(i - 1).first + 1;
      const bool good =
          stretch.file < files_.size() && stretch.first >= before && (i > 0 || stretch.first == 0);
      D9D_REQUIRE(good, "{}: record {} is damaged; make it anew", path, i);
    }
  }
  std::uint64_t num_tokens() const override { return tokens_->num_tokens(); }
  std::uint64_t num_documents() const override { return tokens_->num_documents(); }
  std::uint64_t begin_of(std::uint64_t document) const override { return tokens_->begin_of(document); }
  void read(std::uint64_t first, std::span<std::int64_t> out) const override {
    tokens_->read(first, out);
    require_ids(*this, first, out, ids_below_, name_);
  }
  bool has_unchecked_ids() const override { return ids_below_.has_value(); }
  bool counts(std::uint64_t token) const override { return tokens_->counts(token); }
  std::optional<RowPlace> place_of(std::uint64_t document) const override {
    std::uint64_t low = 0, high = count();
    if (high == 0 || document >= num_documents()) return std::nullopt;
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      (at(middle).first <= document ? low : high) = middle;
    }
    const Stretch stretch = at(low);
    return RowPlace{files_[stretch.file], stretch.number + (document - stretch.first), stretch.is_line != 0};
  }

 private:
  std::uint64_t count() const { return stretches_ ? stretches_->bytes().size() / sizeof(Stretch) : 0; }
  Stretch at(std::uint64_t index) const {
    Stretch stretch;
    std::memcpy(&stretch, stretches_->bytes().data() + index * sizeof stretch, sizeof stretch);
    return stretch;
  }

  const std::shared_ptr<const TokenCorpus> tokens_;
  const std::string name_;  // of the .bin file
  const std::vector<std::string> files_;
  const std::optional<std::int64_t> ids_below_;
  std::optional<MappedFile> stretches_;
};

}  // namespace

RowFilesWriter::RowFilesWriter(const std::string& prefix, std::vector<std::string> files)
    : path_(rows_path(prefix)), files_(std::move(files)), out_(open_new(path_)) {}

void RowFilesWriter::add(const RowPlace& place) {
  const bool same_file = count_ > 0 && place.file == files_[file_];
  if (!same_file) {
    // Files are read in their order; one that is named twice is read twice.
    const auto from = files_.begin() + (count_ == 0 ? 0 : file_ + 1);
    auto found = std::find(from, files_.end(), place.file);
    if (found == files_.end()) found = std::find(files_.begin(), files_.end(), place.file);
    D9D_CHECK(found != files_.end(), "a document of {}, which is none of the {} files", place.file,
              files_.size());
    file_ = static_cast<std::uint32_t>(found - files_.begin());
  }
  if (!same_file || place.number != next_.number || place.is_line != next_.is_line) {
    const Stretch stretch{count_, place.number, file_, place.is_line ? 1U : 0U};
    out_.write(reinterpret_cast<const char*>(&stretch), sizeof stretch);
    if (!out_) fail_to_write(path_);
  }
  next_ = {files_[file_], place.number + 1, place.is_line};
  ++count_;
}

void RowFilesWriter::finish() {
  close_synced(out_, path_);
}

std::shared_ptr<const TokenCorpus> with_rows(std::shared_ptr<const TokenCorpus> tokens,
                                             const std::string& prefix, std::vector<std::string> files,
                                             std::optional<std::int64_t> ids_below) {
  return std::make_shared<RowFiles>(std::move(tokens), prefix, std::move(files), ids_below);
}

}  // namespace d9d
