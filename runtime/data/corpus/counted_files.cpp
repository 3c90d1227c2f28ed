#include "runtime/data/corpus/counted_files.hpp"

#include <filesystem>

#include "runtime/base/error.hpp"
#include "runtime/data/corpus/megatron_corpus.hpp"
#include "runtime/data/corpus/synced_file.hpp"

namespace d9d {
namespace {

constexpr unsigned bits_of_byte = 8;

std::string counted_path(const std::string& prefix) {
  return prefix + ".counted";
}

class CountedFiles final : public TokenCorpus {
 public:
  CountedFiles(const std::string& prefix, std::optional<std::int64_t> ids_below)
      : tokens_(prefix, ids_below), counted_(counted_path(prefix)) {
    const std::uint64_t expected = (tokens_.num_tokens() + bits_of_byte - 1) / bits_of_byte;
    D9D_REQUIRE(counted_.bytes().size() == expected, "{}: {} bytes, expected {} for {} tokens; make it anew",
                counted_path(prefix), counted_.bytes().size(), expected, tokens_.num_tokens());
  }
  std::uint64_t num_tokens() const override { return tokens_.num_tokens(); }
  std::uint64_t num_documents() const override { return tokens_.num_documents(); }
  std::uint64_t begin_of(std::uint64_t document) const override { return tokens_.begin_of(document); }
  void read(std::uint64_t first, std::span<std::int64_t> out) const override { tokens_.read(first, out); }
  bool has_unchecked_ids() const override { return tokens_.has_unchecked_ids(); }
  bool counts(std::uint64_t token) const override {
    return (static_cast<unsigned>(counted_.bytes()[token / bits_of_byte]) >> (token % bits_of_byte) & 1U) !=
           0;
  }

 private:
  const MegatronCorpus tokens_;
  const MappedFile counted_;
};

}  // namespace

CountedWriter::CountedWriter(const std::string& prefix)
    : path_(counted_path(prefix)), out_(open_new(path_)) {}

void CountedWriter::add(bool counts) {
  byte_ = static_cast<std::uint8_t>(byte_ | (counts ? 1U << bits_ : 0U));
  if (++bits_ < bits_of_byte) return;
  out_.put(static_cast<char>(byte_));
  byte_ = 0;
  bits_ = 0;
}

void CountedWriter::add(const std::vector<bool>& counted) {
  for (const bool counts : counted) add(counts);
  if (!out_) fail_to_write(path_);
}

void CountedWriter::finish() {
  if (bits_ > 0) out_.put(static_cast<char>(byte_));
  close_synced(out_, path_);
}

std::shared_ptr<const TokenCorpus> open_counted_files(const std::string& prefix,
                                                      std::optional<std::int64_t> ids_below) {
  if (std::filesystem::exists(counted_path(prefix))) return std::make_shared<CountedFiles>(prefix, ids_below);
  return std::make_shared<MegatronCorpus>(prefix, ids_below);
}

}  // namespace d9d
