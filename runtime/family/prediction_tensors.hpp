#pragma once
// The tensors of multi-token prediction in a folder, as DeepSeek-V3's has them: layers after those of the
// model, with copies of its embedding and head. Internal to runtime/family.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "runtime/nn/size/model_description.hpp"
#include "runtime/state/mapper/mapper.hpp"

namespace d9d {

// "model.layers.N."
std::string prediction_prefix(std::int64_t layer);
// Of such a layer beside those of a decoder layer, without the prefix.
std::vector<std::string> tensors_of_prediction();
// Whether a folder with these tensors has it.
bool has_prediction_layer(const std::set<std::string>& stored, std::int64_t layer);
// Those that are copies of the model's; nothing reads them. Of all layers of `model`.
std::vector<std::string> copies_of_prediction(const ModelDescription& model);
// Embedding and head of an export, with these copies of each.
std::vector<MapperPtr> with_copies_of_prediction(const ModelDescription& model);

}  // namespace d9d
