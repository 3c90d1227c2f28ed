#pragma once
// Which code computes attention and the products of experts, where a device has several. README.md says what each
// can do. No torch.

#include <cstdint>

namespace d9d::kernels {

// auto_: of those that can do a call, the fastest.
enum class AttentionBackend : std::uint8_t { auto_, own, library, composed };
enum class GroupedBackend : std::uint8_t { auto_, own, library, expert_by_expert };

struct Backends {
  AttentionBackend attention = AttentionBackend::auto_;
  GroupedBackend grouped_product = GroupedBackend::auto_;

  bool operator==(const Backends&) const = default;
};

// What D9D_ATTENTION and D9D_GROUPED_PRODUCT say; auto where they are missing or empty. Throws
// std::invalid_argument for a word that is none of the enumerators'.
Backends backends_of_environment();
// Those of this process: of the environment until others are chosen. Choose before the first op.
Backends backends();
void choose_backends(const Backends& chosen);

}  // namespace d9d::kernels
