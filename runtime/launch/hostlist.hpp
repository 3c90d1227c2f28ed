#pragma once
// SLURM's short form of a list of hosts: "gpu[01-03,07],login1" is gpu01 gpu02 gpu03 gpu07 login1.

#include <string>
#include <vector>

namespace d9d {

// In the order of the list, which is the order in which SLURM numbers the nodes. An item may have several
// brackets ("rack[1-2]n[3-4]": the last one varies fastest), a number keeps the zeros it is written with.
// Input error, naming `what`, for a text that is no such list or names more than 65536 hosts.
std::vector<std::string> expand_hostlist(const std::string& text, const std::string& what);

}  // namespace d9d
