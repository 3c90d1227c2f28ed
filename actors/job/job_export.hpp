#pragma once
// The export of a job after its last step: node 0 makes the folder and publishes it, all nodes fill it.

#include <string>

#include "runtime/state/model/model_index.hpp"

namespace d9d {

struct CoordinatorOptions;
struct ProcessServices;

// For node 0. The folder is inside of export_to; without that key nothing is shared.
void add_export(CoordinatorOptions& options, ProcessServices& process, const std::string& tag);

// This node's share into `folder`, and from the first share the adapter's own folder (export_adapter_to). False,
// with nothing written, when this node does not see the folder: export_to is not on a disk that all share.
bool write_export_share(ProcessServices& process, int ranks_here, const std::string& checkpoint,
                        const std::string& folder, const ModelShare& share);

}  // namespace d9d
