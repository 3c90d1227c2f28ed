#pragma once
// A model folder in the layout of Hugging Face through the mappers that a provider returns: what load_weights() and
// export_model() do where the provider has none of its own. Blocks on the disk.

#include <string>
#include <vector>

#include "runtime/nn/size/layer_distribution.hpp"

namespace d9d {

class Disk;
class ModelProvider;
struct StageBuffer;
struct StageParameter;

// Each rank reads what its blocks need.
void load_mapped_weights(const Disk& disk, const ModelProvider& model, const std::string& directory,
                         const std::vector<StageParameter>& parameters);
// Those that the mapper makes; others keep their values.
void load_mapped_buffers(const Disk& disk, const ModelProvider& model, const std::string& directory,
                         const std::vector<StageBuffer>& buffers);
// From headers and from the whole model on the device "meta": every parameter is made, in its shape, and every tensor of
// the folder becomes one or a buffer. Returns warnings.
std::vector<std::string> check_mapped_folder(const Disk& disk, const ModelProvider& model,
                                             const std::string& directory);
// Writes all parameters and buffers of a committed checkpoint in their own types.
void export_mapped(Disk& disk, const ModelProvider& model, const std::string& checkpoint,
                   const std::string& target);

}  // namespace d9d
