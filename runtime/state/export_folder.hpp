#pragma once
// A model folder that appears whole or not at all. Blocks on the disk.

#include <functional>
#include <string>

#include "runtime/state/disk.hpp"

namespace d9d {

// Lets `write` fill a new folder inside of `target` and then moves its files into `target`: first all files of an
// older model go (weights, config, tokenizer, so that no file of one model stands beside another's), what belongs
// to no model stays, and the weights' entry (config.json, the index) comes last. When `write` fails, an older model
// in `target` stays as it was and nothing of the new one is left. The folder is locked meanwhile (folder_lock.hpp).
void write_model_folder(Disk& disk, const std::string& target,
                        const std::function<void(const std::string& folder)>& write);

// Whether a file of that name is part of a model folder in the Hugging Face layout.
bool is_model_file(const std::string& name);

}  // namespace d9d
