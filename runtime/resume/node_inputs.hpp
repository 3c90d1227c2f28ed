#pragma once
// Finds out whether the nodes of a job read the same files: each node sends prints of what it reads when it joins, and
// node 0 compares them with its own. Other contents under the same keys would train together without a word.

#include <string>
#include <string_view>

#include "runtime/job/job_config.hpp"
#include "runtime/provider/tokenizer_files.hpp"
#include "runtime/state/disk/disk.hpp"

namespace d9d {

// JSON of {"data": [...], ...}, lists of FilePrint by the key that names them; names without folders, because a folder
// may be mounted elsewhere on another host. Of each file its size and 16 blocks count (1 MiB; all of a small file); of
// more than 64 files their ends only; of more than 500 their sizes, as one print. Leaves out what cannot be read: the
// code that reads it reports the error. `tokenizer`: the files of the job's tokenizer. Blocks on the disk.
std::string node_inputs(const Disk& disk, const JobConfig& job, const TokenizerFiles& tokenizer);

// Says which inputs of the other node differ from those of node 0, and what to do; empty: none. An input that one of
// them lacks is not compared. `theirs` may come from a stranger: a text that is no such JSON says nothing.
std::string told_other_inputs(const std::string& at_node_0, std::string_view theirs);

}  // namespace d9d
