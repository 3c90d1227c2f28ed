#pragma once
// A model folder that appears whole or not at all. Blocks on the disk.

#include <functional>
#include <string>

#include "runtime/state/disk.hpp"

namespace d9d {

// Lets `write` fill a new folder inside `target` and then moves its files into `target`.
// Before that all files of an older model (weights, config, tokenizer) are removed,
// so that two models never mix; other files stay. The files that make a folder a
// model (the index, config.json) come last. If `write` fails, `target` is as before.
// The folder is locked meanwhile (folder_lock.hpp).
void write_model_folder(Disk& disk, const std::string& target,
                        const std::function<void(const std::string& folder)>& write);

// Whether a file of that name is part of a model folder in the Hugging Face layout.
bool is_model_file(const std::string& name);

}  // namespace d9d
