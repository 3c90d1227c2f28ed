#pragma once
// The export of a job after its last step. Node 0 makes the folder, all nodes fill it, and node 0 publishes
// it.

#include <string>

#include "runtime/state/model/publish_model.hpp"

namespace d9d {

struct CoordinatorOptions;
struct ProcessServices;

// Adds node 0's part to the options of the Coordinator. The folder is made inside of export_to. Without
// that key the nodes have no common folder, and node 0 exports alone.
void add_export(CoordinatorOptions& options, ProcessServices& process, const std::string& tag);

// Writes this node's share into `folder`. The first share also writes the adapter's own folder
// (export_adapter_to). Returns false and writes nothing if this node does not see the folder, because
// export_to is not on a disk that all nodes share.
bool write_export_share(ProcessServices& process, int ranks_here, const std::string& checkpoint,
                        const std::string& folder, const ModelShare& share);

}  // namespace d9d
