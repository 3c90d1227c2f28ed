#pragma once
// Which microbatch the current thread computes. A module that draws random numbers in forward derives them
// from this place. A recomputed forward then draws the same numbers, and a resumed job those of an unbroken
// one. No torch in this header.

#include <cstdint>

namespace d9d {

struct MicrobatchPlace {
  std::uint64_t seed = 0;  // of the job; another one on each rank, because each rank has other samples
  std::uint64_t step = 0;
  int microbatch = 0;
};

class MicrobatchScope {
 public:
  // Makes `place` current on this thread until the scope ends. Scopes nest.
  explicit MicrobatchScope(MicrobatchPlace place);
  ~MicrobatchScope();
  MicrobatchScope(const MicrobatchScope&) = delete;
  MicrobatchScope& operator=(const MicrobatchScope&) = delete;

  // The current place of this thread; all zero outside of scopes.
  static const MicrobatchPlace& current();

 private:
  const MicrobatchPlace previous_;
};

}  // namespace d9d
