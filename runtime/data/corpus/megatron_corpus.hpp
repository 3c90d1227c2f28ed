#pragma once
// Documents of token ids in Megatron's files PREFIX.bin and PREFIX.idx. They are mapped, so memory
// does not grow with them.

#include <optional>
#include <string>

#include "runtime/data/corpus/megatron_index.hpp"
#include "runtime/data/corpus/token_corpus.hpp"

namespace d9d {

class MegatronCorpus final : public TokenCorpus {
 public:
  // Errors as MegatronIndex. `ids_below` is the size of the model's vocabulary, where it is known:
  // another id is an input error with file and place when it is read.
  explicit MegatronCorpus(const std::string& prefix, std::optional<std::int64_t> ids_below = {});

  NpyType type() const { return index_.type(); }
  std::uint64_t num_tokens() const override { return index_.num_tokens(); }
  std::uint64_t num_documents() const override { return index_.num_documents(); }
  std::uint64_t begin_of(std::uint64_t document) const override { return index_.begin_of(document); }
  void read(std::uint64_t first, std::span<std::int64_t> out) const override;
  bool has_unchecked_ids() const override { return ids_below_.has_value(); }
  // Names a document by its number in the .bin file.
  std::optional<RowPlace> place_of(std::uint64_t document) const override {
    return RowPlace{name_, document, false};
  }

 private:
  const std::string name_;  // of the .bin file
  const MappedFile tokens_;
  const MegatronIndex index_;
  const std::optional<std::int64_t> ids_below_;
};

}  // namespace d9d
