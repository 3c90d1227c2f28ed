#pragma once
// A config.json of a family: the keys that all cases of a test have, and those of one case.

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "runtime/family/hugging_face_config.hpp"
#include "runtime/family/sparse_decoder.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {

template <class Config = FamilyModel>
class ConfigDocument {
 public:
  explicit ConfigDocument(nlohmann::json keys) : keys_(std::move(keys)) {}

  std::shared_ptr<Config> parse(const nlohmann::json& change = nlohmann::json::object()) const {
    nlohmann::json document = keys_;
    document.update(change);
    return std::dynamic_pointer_cast<Config>(parse_hugging_face_config(document.dump(), "config.json"));
  }
  std::string error(const nlohmann::json& change = nlohmann::json::object()) const {
    return error_of([&] { parse(change); }, ErrorKind::input);
  }

 private:
  nlohmann::json keys_;
};

inline ConfigDocument<SparseDecoder> small_sparse(const std::string& type) {
  return ConfigDocument<SparseDecoder>({{"model_type", type},
                                        {"hidden_size", 32},
                                        {"intermediate_size", 48},
                                        {"num_hidden_layers", 3},
                                        {"vocab_size", 64},
                                        {"num_attention_heads", 4},
                                        {"num_key_value_heads", 2},
                                        {"max_position_embeddings", 8}});
}

}  // namespace d9d::test
