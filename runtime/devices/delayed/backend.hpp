#pragma once
// Makes tensors of delayed devices known to torch, as its backend PrivateUse1 under the name "delayed".

namespace d9d::delayed {

// Once for the process, before the first such tensor; further calls do nothing.
void install();

}  // namespace d9d::delayed
