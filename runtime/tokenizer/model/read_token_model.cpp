#include "runtime/tokenizer/model/read_token_model.hpp"

#include "runtime/base/error.hpp"
#include "runtime/tokenizer/model/bpe_model.hpp"
#include "runtime/tokenizer/model/unigram_model.hpp"
#include "runtime/tokenizer/model/word_piece_model.hpp"

namespace d9d {
namespace {

// A word is a token or unknown.
class WordLevelModel final : public TokenModel {
 public:
  explicit WordLevelModel(const JsonSection& section)
      : TokenModel(Vocabulary::from_json(section.at("vocab"))),
        unknown_(required_id(section, "unk_token", "<unk>")) {}

  void encode(std::string_view word, ModelScratch& scratch, std::vector<std::int32_t>& ids) const override {
    if (scratch.begins != nullptr) scratch.begins->push_back(0);
    ids.push_back(vocabulary_.id_of(word).value_or(unknown_));
  }

 private:
  const std::int32_t unknown_;
};

// Old files leave the type out; the keys say what it is, in the library's order.
std::string type_of(const JsonSection& section) {
  if (section.has("type")) return section.text("type");
  if (section.has("merges")) return "BPE";
  if (section.has("continuing_subword_prefix")) return "WordPiece";
  if (section.has("vocab")) return section.at("vocab").is_array() ? "Unigram" : "WordLevel";
  return "(none)";
}

}  // namespace

std::unique_ptr<const TokenModel> read_token_model(const JsonSection& section, bool byte_level) {
  const std::string type = type_of(section);
  if (type == "BPE") return std::make_unique<BpeModel>(section, byte_level);
  // These would need words whose bytes are characters of the byte-level alphabet.
  if (byte_level && (type == "Unigram" || type == "WordPiece" || type == "WordLevel")) {
    section.refuse(fmt::format("the model {} after the pre-tokenizer ByteLevel", type), "BPE there");
  }
  if (type == "Unigram") return std::make_unique<UnigramModel>(section);
  if (type == "WordPiece") return std::make_unique<WordPieceModel>(section);
  if (type == "WordLevel") return std::make_unique<WordLevelModel>(section);
  section.refuse(fmt::format("the model {}", type), "BPE, Unigram, WordPiece, WordLevel");
}

}  // namespace d9d
