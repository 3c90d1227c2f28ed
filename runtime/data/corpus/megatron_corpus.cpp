#include "runtime/data/corpus/megatron_corpus.hpp"

#include "runtime/base/error.hpp"

namespace d9d {

MegatronCorpus::MegatronCorpus(const std::string& prefix, std::optional<std::int64_t> ids_below)
    : name_(prefix + ".bin"),
      tokens_(name_),
      index_(prefix + ".idx", tokens_.bytes().size()),
      ids_below_(ids_below) {}

void MegatronCorpus::read(std::uint64_t first, std::span<std::int64_t> out) const {
  D9D_CHECK(first + out.size() <= num_tokens(), "tokens {} to {} of {}", first, first + out.size(),
            num_tokens());
  read_integers(type(), tokens_.bytes().data() + first * bytes_of(type()), out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    D9D_REQUIRE(out[i] >= 0, "{}: token {} is {}, expected 0 or more", name_, first + i, out[i]);
    D9D_REQUIRE(!ids_below_ || out[i] < *ids_below_,
                "{}: token {} is {}, but model_provider.model.vocab_size is {}; raise it, or mend the file",
                name_, first + i, out[i], *ids_below_);
  }
}

}  // namespace d9d
