#pragma once
// What an inference job has written after the checkpoint that is resumed is removed, because it is computed anew. No
// torch.

#include <cstdint>
#include <filesystem>

namespace d9d {

// Removes the results of the samples from `sample` on, of all ranks: lines (and what is no whole line), files of
// tensors, and files that were not finished. A folder that does not exist has none; other files stay. Input error for a
// file of tensors without numbers of samples.
void drop_results_from(const std::filesystem::path& folder, std::uint64_t sample);

}  // namespace d9d
