#pragma once
// What is looked at in a model's folder before it is loaded, beyond names and shapes. Blocks on the disk.

#include <string>
#include <vector>

#include "runtime/family/family_model.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/state/model/model_files.hpp"

namespace d9d {

// Input error where the model has more layers than the folder: known before so many are built.
void require_layers(const ModelFiles& files, const FamilyModel& config);

// Input error where the model's head is tied to its embedding, and the folder has both with other values. Reads both,
// where it has both.
void require_one_head(const ModelFiles& files, const FamilyModel& config);

// A sentence for each thing about the folder's weights that people may not expect: ModelFiles::notes(), a
// quantization_config that nothing is quantised by, parts of a multimodal model that are not read.
std::vector<std::string> folder_notes(const Disk& disk, const ModelFiles& files, const FamilyModel& config);

}  // namespace d9d
