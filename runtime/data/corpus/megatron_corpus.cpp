#include "runtime/data/corpus/megatron_corpus.hpp"

#include "runtime/base/error.hpp"
#include "runtime/data/corpus/checked_ids.hpp"

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
  require_ids(*this, first, out, ids_below_, name_);
}

}  // namespace d9d
