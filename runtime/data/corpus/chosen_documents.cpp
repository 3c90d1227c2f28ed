#include "runtime/data/corpus/chosen_documents.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

class ChosenDocuments final : public TokenCorpus {
 public:
  ChosenDocuments(std::shared_ptr<const TokenCorpus> all, const RowChoiceConfig& config)
      : all_(std::move(all)), choice_(all_->num_documents(), config) {
    for (std::size_t i = 0; i < choice_.runs().size(); ++i) {
      const std::uint64_t begin = choice_.runs()[i].row;
      begins_.push_back({num_tokens_, all_->begin_of(begin)});
      num_tokens_ += all_->begin_of(begin + choice_.length_of(i)) - all_->begin_of(begin);
    }
  }

  std::uint64_t num_tokens() const override { return num_tokens_; }
  std::uint64_t num_documents() const override { return choice_.count(); }
  std::uint64_t begin_of(std::uint64_t document) const override {
    D9D_CHECK(document <= num_documents(), "document {} of {}", document, num_documents());
    if (document == num_documents()) return num_tokens_;
    const auto& runs = choice_.runs();
    const auto run = std::ranges::upper_bound(runs, document, {}, &RowChoice::Run::first) - runs.begin() - 1;
    const Begin& begin = begins_[static_cast<std::size_t>(run)];
    return begin.here + all_->begin_of(choice_.row_at(document)) - begin.there;
  }
  void read(std::uint64_t first, std::span<std::int64_t> out) const override {
    D9D_CHECK(first + out.size() <= num_tokens_, "tokens {} to {} of {}", first, first + out.size(),
              num_tokens_);
    while (!out.empty()) {
      const auto next = std::ranges::upper_bound(begins_, first, {}, &Begin::here);
      const std::uint64_t end = next == begins_.end() ? num_tokens_ : next->here;
      const std::uint64_t count = std::min<std::uint64_t>(out.size(), end - first);
      all_->read(std::prev(next)->there + (first - std::prev(next)->here), out.first(count));
      out = out.subspan(count);
      first += count;
    }
  }
  bool counts(std::uint64_t token) const override {
    const Begin& begin = *std::prev(std::ranges::upper_bound(begins_, token, {}, &Begin::here));
    return all_->counts(begin.there + (token - begin.here));
  }
  bool has_unchecked_ids() const override { return all_->has_unchecked_ids(); }
  std::optional<RowPlace> place_of(std::uint64_t document) const override {
    return all_->place_of(choice_.row_at(document));
  }

 private:
  struct Begin {
    std::uint64_t here = 0, there = 0;  // the first token of a run, in this corpus and in all of it
  };
  const std::shared_ptr<const TokenCorpus> all_;
  const RowChoice choice_;
  std::vector<Begin> begins_;
  std::uint64_t num_tokens_ = 0;
};

}  // namespace

std::shared_ptr<const TokenCorpus> chosen_documents(std::shared_ptr<const TokenCorpus> corpus,
                                                    const RowChoiceConfig& config) {
  if (config.is_all()) return corpus;
  return std::make_shared<ChosenDocuments>(std::move(corpus), config);
}

}  // namespace d9d
